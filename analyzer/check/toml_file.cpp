/* SPDX-License-Identifier: MIT */
#include "analyzer/check/toml_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

extern "C" {
#include "analyzer/base/util.h"
}

/* All in this file, no library at run time; and no exceptions, which C could not catch. */
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace
{

/* A budget is written by hand: what is larger is some other file. */
const size_t most_bytes = 1 << 20;

int read_text(const char *path, std::string &text, vt_diag *diag)
{
	int fd = vt_util_open_regular(path);
	char part[4096];
	ssize_t got = -1;

	while (fd >= 0 && (got = read(fd, part, sizeof(part))) > 0 && text.size() <= most_bytes)
		text.append(part, (size_t)got);
	if (fd < 0 && errno == EISDIR)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: is a directory", path);
	else if (got < 0)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	else if (text.size() > most_bytes)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: too large for a budget file", path);
	if (fd >= 0)
		close(fd);
	return got < 0 || text.size() > most_bytes ? -1 : 0;
}

char *text_of(const toml::node &node)
{
	if (auto *string = node.as_string())
		return vt_xstrdup(string->get().c_str());
	if (auto *integer = node.as_integer())
		return vt_xstrdup(std::to_string(integer->get()).c_str());
	return nullptr;
}

vt_toml_value value_of(const std::string &table, const std::string &key, const toml::node &node)
{
	vt_toml_value value{};

	value.table = vt_xstrdup(table.c_str());
	value.key = vt_xstrdup(key.c_str());
	value.text = text_of(node);
	value.kind = node.is_string()    ? VT_TOML_STRING
		     : node.is_integer() ? VT_TOML_INTEGER
					 : VT_TOML_OTHER;
	value.line = (int)node.source().begin.line;
	return value;
}

void add(std::vector<vt_toml_value> &values, const std::string &table, const std::string &key,
	 const toml::node &node)
{
	const toml::array *array = node.as_array();

	if (!array) {
		values.push_back(value_of(table, key, node));
		return;
	}
	if (array->empty()) {
		values.push_back(value_of(table, key, node));
		values.back().kind = VT_TOML_EMPTY_ARRAY;
	}
	for (const toml::node &element : *array) {
		values.push_back(value_of(table, key, element));
		values.back().is_element = 1;
	}
}

void gather(std::vector<vt_toml_value> &values, const toml::table &root)
{
	for (auto &&[key, node] : root) {
		std::string name(key.str());

		if (auto *table = node.as_table())
			for (auto &&[inner, value] : *table)
				add(values, name, std::string(inner.str()), value);
		else
			add(values, "", name, node);
	}
	/* A table of toml++ is in the order of its keys. */
	std::stable_sort(values.begin(), values.end(),
			 [](const vt_toml_value &a, const vt_toml_value &b) {
				 return a.line < b.line;
			 });
}

} // namespace

int vt_toml_file_read(vt_toml_file *file, const char *path, vt_diag *diag)
{
	std::vector<vt_toml_value> values;
	std::string text;

	*file = {};
	if (read_text(path, text, diag))
		return -1;

	toml::parse_result result = toml::parse(std::string_view(text), std::string_view(path));

	if (!result) {
		std::string why(result.error().description());

		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s:%u: %s", path,
			    (unsigned)result.error().source().begin.line, why.c_str());
		return -1;
	}
	gather(values, result.table());
	file->nr = (unsigned)values.size();
	file->values = (vt_toml_value *)vt_xcalloc(values.size() + 1, sizeof(vt_toml_value));
	std::copy(values.begin(), values.end(), file->values);
	return 0;
}

void vt_toml_file_release(vt_toml_file *file)
{
	for (unsigned i = 0; i < file->nr; i++) {
		free(file->values[i].table);
		free(file->values[i].key);
		free(file->values[i].text);
	}
	free(file->values);
	*file = {};
}
