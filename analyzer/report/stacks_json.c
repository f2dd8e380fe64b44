/* SPDX-License-Identifier: MIT */
#include "analyzer/report/stacks_json.h"

#include "analyzer/model/producer.h"
#include "analyzer/output/json.h"

void vt_stacks_json_set(json_t *object, const struct vt_describe *describe,
			const struct vt_allocation *a)
{
	const struct vt_caller *made = a->common->made;
	struct vt_producer producer = vt_producer_of(describe->model, a);

	vt_json_set(object, "python",
		    vt_json_lines(vt_describe_python(describe, made->python_stack)));
	vt_json_set(object, "forward_python",
		    vt_json_lines(vt_describe_python(
			    describe, producer.is_backward ? producer.python_stack : 0)));
	vt_json_set(object, "native",
		    vt_json_lines(vt_describe_native(describe, made->native_stack)));
}
