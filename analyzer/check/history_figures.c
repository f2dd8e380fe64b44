/* SPDX-License-Identifier: MIT */
#include "analyzer/check/history.h"

static void add(struct vt_history_figures *figures, const struct vt_limit *limit, uint64_t value)
{
	const struct vt_history_figure figure = { limit->name, vt_budget_unit(limit), value };

	vt_vector_push(figures, figure);
}

void vt_history_figures_of_check(struct vt_history_figures *figures, const struct vt_check *check)
{
	for (unsigned i = 0; i < check->nr; i++)
		if (!check->rows[i].figure.why)
			add(figures, check->rows[i].limit, check->rows[i].figure.value);
}

void vt_history_figures_of_ranks(struct vt_history_figures *figures,
				 const struct vt_check_ranks *ranks)
{
	const struct vt_budget *budget = ranks->options->budget;

	for (unsigned i = 0; i < budget->nr; i++) {
		json_int_t most = -1;

		for (uint32_t k = 0; k < ranks->nr; k++) {
			const json_t *figure = vt_check_ranks_figure(&ranks->ranks[k], i);

			if (json_is_integer(figure) && json_integer_value(figure) > most)
				most = json_integer_value(figure);
		}
		if (most >= 0)
			add(figures, &budget->limits[i], (uint64_t)most);
	}
}
