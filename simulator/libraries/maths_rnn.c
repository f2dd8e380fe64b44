/* SPDX-License-Identifier: MIT */
/*
 * cuDNN's recurrent networks: where each gate's matrix and bias lie in the weight space.  Clients
 * lay their own parameters over them.  The library documents neither order nor padding; here all
 * matrices come first, layer by layer, then all biases, without padding.
 *
 * Descriptors are structures of ours, of as many threads as the client's own rules allow.
 */
#include <stdlib.h>
#include <string.h>

#include "maths.h"

enum { SUCCESS = 0, ALLOC_FAILED = 1003, BAD_PARAM = 2000, NR_SHAPE = 3, MAX_DIMENSIONS = 8 };

/* cudnnRNNMode_t, cudnnRNNBiasMode_t, cudnnDirectionMode_t, cudnnRNNInputMode_t */
enum { MODE_RELU, MODE_TANH, MODE_LSTM, MODE_GRU };
enum { BIAS_NONE, BIAS_INPUT, BIAS_DOUBLE, BIAS_RECURRENT };
enum { BIDIRECTIONAL = 1, SKIP_INPUT = 1 };

struct network {
	int mode, bias, is_bidirectional, is_input_skipped, type;
	size_t input, hidden, projection, layers;
};

struct tensor {
	int type, nr_dimensions;
	int dimensions[MAX_DIMENSIONS], strides[MAX_DIMENSIONS];
};

/* One matrix of a layer: rows x columns elements; none where rows is 0. */
struct matrix {
	size_t rows, columns;
};

/* cudnnDataType_t */
static size_t element_bytes(int type)
{
	enum { DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };

	return type == DOUBLE ? 8 : type == HALF || type == BFLOAT16 ? 2 : 4;
}

static int nr_gates(const struct network *network)
{
	return network->mode == MODE_LSTM ? 4 : network->mode == MODE_GRU ? 3 : 1;
}

static int is_projected(const struct network *network)
{
	return network->mode == MODE_LSTM && network->projection &&
	       network->projection != network->hidden;
}

static size_t output_of(const struct network *network)
{
	return is_projected(network) ? network->projection : network->hidden;
}

static size_t nr_pseudo_layers(const struct network *network)
{
	return network->layers << network->is_bidirectional;
}

/* Matrices, and biases, of a pseudo layer: input gates, recurrent gates, the projection. */
static int nr_linear(const struct network *network)
{
	return 2 * nr_gates(network) + is_projected(network);
}

static struct matrix matrix_of(const struct network *network, size_t pseudo_layer, int linear)
{
	int gates = nr_gates(network);
	size_t layer = pseudo_layer >> network->is_bidirectional;
	struct matrix matrix = {network->hidden, output_of(network)};

	if (linear == 2 * gates) {
		matrix.rows = network->projection;
		matrix.columns = network->hidden;
	} else if (linear < gates && !layer) {
		matrix.columns = network->input;
		matrix.rows = network->is_input_skipped ? 0 : network->hidden;
	} else if (linear < gates) {
		matrix.columns <<= network->is_bidirectional;
	}
	return matrix;
}

static size_t bias_of(const struct network *network, int linear)
{
	int is_input = linear < nr_gates(network);

	if (linear == 2 * nr_gates(network) || network->bias == BIAS_NONE ||
	    network->bias == (is_input ? BIAS_RECURRENT : BIAS_INPUT))
		return 0;
	return network->hidden;
}

/*
 * The elements before a linear layer's matrix and, from the start of the biases, before its bias;
 * those of the whole network where pseudo_layer is the number of them.
 */
static void count_before(const struct network *network, size_t pseudo_layer, int linear,
			 size_t *matrices, size_t *biases)
{
	struct matrix matrix;
	size_t layer;
	int i;

	*matrices = *biases = 0;
	for (layer = 0; layer <= pseudo_layer && layer < nr_pseudo_layers(network); layer++)
		for (i = 0; i < (layer == pseudo_layer ? linear : nr_linear(network)); i++) {
			matrix = matrix_of(network, layer, i);
			*matrices += matrix.rows * matrix.columns;
			*biases += bias_of(network, i);
		}
}

static int create_network(struct network **answer)
{
	*answer = calloc(1, sizeof(**answer));
	return *answer ? SUCCESS : ALLOC_FAILED;
}

static int create_tensor(struct tensor **answer)
{
	*answer = calloc(1, sizeof(**answer));
	return *answer ? SUCCESS : ALLOC_FAILED;
}

static int destroy(void *descriptor)
{
	free(descriptor);
	return SUCCESS;
}

static int set_network(struct network *network, int algorithm, int mode, int bias, int direction,
		       int input_mode, int type, int precision, int math, int input, int hidden,
		       int projection, int layers)
{
	(void)algorithm, (void)precision, (void)math;
	if (input < 0 || hidden < 0 || projection < 0 || layers < 0)
		return BAD_PARAM;
	network->mode = mode;
	network->bias = bias;
	network->is_bidirectional = direction == BIDIRECTIONAL;
	network->is_input_skipped = input_mode == SKIP_INPUT;
	network->type = type;
	network->input = (size_t)input;
	network->hidden = (size_t)hidden;
	network->projection = (size_t)projection;
	network->layers = (size_t)layers;
	return SUCCESS;
}

static int set_tensor(struct tensor *tensor, int type, int nr_dimensions, const int *dimensions,
		      const int *strides)
{
	if (nr_dimensions < 0 || nr_dimensions > MAX_DIMENSIONS)
		return BAD_PARAM;
	tensor->type = type;
	tensor->nr_dimensions = nr_dimensions;
	memcpy(tensor->dimensions, dimensions, (size_t)nr_dimensions * sizeof(int));
	memcpy(tensor->strides, strides, (size_t)nr_dimensions * sizeof(int));
	return SUCCESS;
}

/* Writes no more than the client has room for. */
static int get_tensor(const struct tensor *tensor, int wanted, int *type, int *nr_dimensions,
		      int *dimensions, int *strides)
{
	int i;

	*type = tensor->type;
	*nr_dimensions = tensor->nr_dimensions;
	for (i = 0; i < wanted && i < tensor->nr_dimensions; i++) {
		dimensions[i] = tensor->dimensions[i];
		strides[i] = tensor->strides[i];
	}
	return SUCCESS;
}

static int get_weight_bytes(void *handle, const struct network *network, size_t *answer)
{
	size_t matrices, biases;

	(void)handle;
	count_before(network, nr_pseudo_layers(network), 0, &matrices, &biases);
	*answer = (matrices + biases) * element_bytes(network->type);
	return SUCCESS;
}

/* One part of the weight space; a NULL address and no dimensions where there is none. */
static void describe(const struct network *network, char *space, size_t before, size_t rows,
		     size_t columns, struct tensor *tensor, void **address)
{
	int shape[NR_SHAPE] = {1, (int)rows, (int)columns};
	int strides[NR_SHAPE] = {(int)(rows * columns), (int)columns, 1};
	int is_there = rows && columns;

	if (tensor)
		set_tensor(tensor, network->type, is_there ? NR_SHAPE : 0, shape, strides);
	if (address)
		*address = is_there ? space + before * element_bytes(network->type) : NULL;
}

static int get_weights(void *handle, const struct network *network, int pseudo_layer,
		       size_t space_bytes, char *space, int linear, struct tensor *matrix_tensor,
		       void **matrix_address, struct tensor *bias_tensor, void **bias_address)
{
	size_t matrices, biases, all_matrices, all_biases;
	struct matrix matrix;

	(void)handle, (void)space_bytes;
	if (pseudo_layer < 0 || (size_t)pseudo_layer >= nr_pseudo_layers(network) || linear < 0)
		return BAD_PARAM;
	count_before(network, nr_pseudo_layers(network), 0, &all_matrices, &all_biases);
	count_before(network, (size_t)pseudo_layer, linear, &matrices, &biases);
	matrix = matrix_of(network, (size_t)pseudo_layer, linear);
	if (linear >= nr_linear(network))
		matrix.rows = 0;
	describe(network, space, matrices, matrix.rows, matrix.columns, matrix_tensor,
		 matrix_address);
	describe(network, space, all_matrices + biases,
		 linear < nr_linear(network) ? bias_of(network, linear) : 0, 1, bias_tensor,
		 bias_address);
	return SUCCESS;
}

const struct vts_maths_function vts_maths_rnn_functions[] = {
	{"cudnnCreateRNNDescriptor", (void *)create_network},
	{"cudnnDestroyRNNDescriptor", (void *)destroy},
	{"cudnnSetRNNDescriptor_v8", (void *)set_network},
	{"cudnnCreateTensorDescriptor", (void *)create_tensor},
	{"cudnnDestroyTensorDescriptor", (void *)destroy},
	{"cudnnSetTensorNdDescriptor", (void *)set_tensor},
	{"cudnnGetTensorNdDescriptor", (void *)get_tensor},
	{"cudnnGetRNNWeightSpaceSize", (void *)get_weight_bytes},
	{"cudnnGetRNNWeightParams", (void *)get_weights},
	{NULL, NULL},
};
