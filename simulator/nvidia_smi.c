/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi: what a driver installs beside its libraries, and some programs ask in place of NVML.
 *
 *   nvidia-smi                                       a table
 *   nvidia-smi -L                                    a line for each card
 *   nvidia-smi --query-gpu=name,memory.total,... --format=csv[,noheader][,nounits]
 *
 * and with each -i CARD: an index or a UUID.  All of it comes from the simulated NVML.  Other
 * options and fields are refused, as by the real one, so that nobody takes a guess for an answer.
 */
#include "simulator/nvml.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WRONG_USAGE = 2, NO_DEVICE = 6, TEXT = 96 };

/* The part of the library's interface that is asked here. */
nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int capacity);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *text, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *nr);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned int capacity);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned int capacity);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor);

struct nvml_memory {
	unsigned long long total, free, used;
};

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct nvml_memory *memory);

enum what { INDEX, COUNT, NAME, UUID, BUS, DRIVER, CAPABILITY, TOTAL, FREE, USED, RESERVED, NONE };

/* What has no meaning on a simulated card is not available, as on cards without such a sensor. */
static const struct field {
	const char *name, *other_name, *unit;
	enum what what;
} fields[] = {
	{ "index", NULL, NULL, INDEX },
	{ "count", NULL, NULL, COUNT },
	{ "name", "gpu_name", NULL, NAME },
	{ "uuid", "gpu_uuid", NULL, UUID },
	{ "pci.bus_id", "gpu_bus_id", NULL, BUS },
	{ "driver_version", NULL, NULL, DRIVER },
	{ "compute_cap", NULL, NULL, CAPABILITY },
	{ "memory.total", NULL, "MiB", TOTAL },
	{ "memory.free", NULL, "MiB", FREE },
	{ "memory.used", NULL, "MiB", USED },
	{ "memory.reserved", NULL, "MiB", RESERVED },
	{ "utilization.gpu", NULL, "%", NONE },
	{ "utilization.memory", NULL, "%", NONE },
	{ "temperature.gpu", NULL, NULL, NONE },
	{ "power.draw", NULL, "W", NONE },
	{ "mig.mode.current", NULL, NULL, NONE },
};

struct request {
	const struct field *fields[32];
	int nr_fields;
	int is_list, has_header, has_units;
	const char *card; /* NULL: all */
};

__attribute__((format(printf, 2, 3), noreturn)) static void stop(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	exit(code);
}

static const struct field *find_field(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcasecmp(name, fields[i].name) ||
		    (fields[i].other_name && !strcasecmp(name, fields[i].other_name)))
			return &fields[i];
	stop(WRONG_USAGE, "Field \"%s\" is not a valid field to query.\n", name);
}

static void read_fields(struct request *request, char *list)
{
	const int room = sizeof(request->fields) / sizeof(request->fields[0]);

	for (char *name = strtok(list, ", "); name; name = strtok(NULL, ", ")) {
		if (request->nr_fields == room)
			stop(WRONG_USAGE, "Too many fields to query: %s\n", name);
		request->fields[request->nr_fields++] = find_field(name);
	}
}

static void read_format(struct request *request, char *list)
{
	int is_csv = 0;

	for (char *word = strtok(list, ", "); word; word = strtok(NULL, ", ")) {
		if (!strcmp(word, "csv"))
			is_csv = 1;
		else if (!strcmp(word, "noheader"))
			request->has_header = 0;
		else if (!strcmp(word, "nounits"))
			request->has_units = 0;
		else
			stop(WRONG_USAGE, "Option \"--format=\" has no %s.\n", word);
	}
	if (!is_csv)
		stop(WRONG_USAGE, "\"--format=\" must be csv.\n");
}

static void read_arguments(struct request *request, int argc, char **argv)
{
	static const struct option options[] = { { "query-gpu", required_argument, NULL, 'q' },
						 { "format", required_argument, NULL, 'f' },
						 { "id", required_argument, NULL, 'i' },
						 { "list-gpus", no_argument, NULL, 'L' },
						 { NULL, 0, NULL, 0 } };
	int option, has_format = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+i:L", options, NULL)) != -1) {
		if (option == 'q')
			read_fields(request, optarg);
		else if (option == 'f')
			read_format(request, optarg), has_format = 1;
		else if (option == 'i')
			request->card = optarg;
		else if (option == 'L')
			request->is_list = 1;
		else
			stop(WRONG_USAGE, "Not simulated: %s\n", argv[optind - 1]);
	}
	if (optind < argc)
		stop(WRONG_USAGE, "Not simulated: %s\n", argv[optind]);
	if (!request->nr_fields != !has_format)
		stop(WRONG_USAGE, "\"--query-gpu=\" and \"--format=\" need each other.\n");
}

static void print_mib(char *text, unsigned long long bytes)
{
	snprintf(text, TEXT, "%llu", bytes >> 20);
}

/* One field of one card. */
static void read_value(char *text, enum what what, nvmlDevice_t device)
{
	struct nvml_memory memory = { 0 };
	unsigned int number = 0;
	int major = 0, minor = 0;

	snprintf(text, TEXT, "[N/A]");
	nvmlDeviceGetMemoryInfo(device, &memory);
	nvmlDeviceGetIndex(device, &number);
	if (what == INDEX) {
		snprintf(text, TEXT, "%u", number);
	} else if (what == COUNT) {
		nvmlDeviceGetCount_v2(&number);
		snprintf(text, TEXT, "%u", number);
	} else if (what == NAME) {
		nvmlDeviceGetName(device, text, TEXT);
	} else if (what == UUID) {
		nvmlDeviceGetUUID(device, text, TEXT);
	} else if (what == BUS) {
		snprintf(text, TEXT, "00000000:%02X:00.0", number + 1);
	} else if (what == DRIVER) {
		nvmlSystemGetDriverVersion(text, TEXT);
	} else if (what == CAPABILITY) {
		nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
		snprintf(text, TEXT, "%d.%d", major, minor);
	} else if (what == TOTAL) {
		print_mib(text, memory.total);
	} else if (what == FREE) {
		print_mib(text, memory.free);
	} else if (what == USED) {
		print_mib(text, memory.used);
	} else if (what == RESERVED) {
		print_mib(text, 0);
	}
}

static void print_header(const struct request *request)
{
	for (int i = 0; i < request->nr_fields; i++) {
		const struct field *field = request->fields[i];

		printf("%s%s", i ? ", " : "", field->name);
		if (field->unit)
			printf(" [%s]", field->unit);
	}
	putchar('\n');
}

static void print_row(const struct request *request, nvmlDevice_t device)
{
	char text[TEXT];

	for (int i = 0; i < request->nr_fields; i++) {
		const struct field *field = request->fields[i];

		read_value(text, field->what, device);
		printf("%s%s", i ? ", " : "", text);
		if (field->unit && field->what != NONE && request->has_units)
			printf(" %s", field->unit);
	}
	putchar('\n');
}

static void print_title(void)
{
	char driver[TEXT] = "";
	int version = 0;

	nvmlSystemGetDriverVersion(driver, sizeof(driver));
	nvmlSystemGetCudaDriverVersion_v2(&version);
	printf("NVIDIA-SMI %s  Driver Version: %s  CUDA Version: %d.%d\n", driver, driver,
	       version / 1000, version % 1000 / 10);
}

static void print_card(const struct request *request, nvmlDevice_t device)
{
	char name[TEXT], text[TEXT];
	struct nvml_memory memory = { 0 };
	unsigned int index = 0;

	if (request->nr_fields) {
		print_row(request, device);
		return;
	}
	nvmlDeviceGetIndex(device, &index);
	read_value(name, NAME, device);
	if (request->is_list) {
		read_value(text, UUID, device);
		printf("GPU %u: %s (UUID: %s)\n", index, name, text);
		return;
	}
	nvmlDeviceGetMemoryInfo(device, &memory);
	printf("| %3u  %-32s | %7lluMiB / %7lluMiB |\n", index, name, memory.used >> 20,
	       memory.total >> 20);
}

static nvmlReturn_t find_card(const char *name, nvmlDevice_t *device)
{
	char *end;
	unsigned long index = strtoul(name, &end, 10);

	return *end || end == name ? nvmlDeviceGetHandleByUUID(name, device)
				   : nvmlDeviceGetHandleByIndex_v2((unsigned int)index, device);
}

int main(int argc, char **argv)
{
	struct request request = { .has_header = 1, .has_units = 1 };
	nvmlDevice_t device = NULL;
	unsigned int i = 0;

	read_arguments(&request, argc, argv);
	if (nvmlInit_v2())
		stop(NO_DEVICE, "No devices were found\n");
	if (request.card && find_card(request.card, &device))
		stop(NO_DEVICE, "No devices were found: %s\n", request.card);
	if (!request.nr_fields && !request.is_list)
		print_title();
	if (request.nr_fields && request.has_header)
		print_header(&request);
	if (device)
		print_card(&request, device);
	for (; !request.card && !nvmlDeviceGetHandleByIndex_v2(i, &device); i++)
		print_card(&request, device);
	return 0;
}
