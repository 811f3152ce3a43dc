/*
 * A planner from outside as a program (docs/outside.md): the largest uniform batch that fits and
 * divides the request. It is compiled by
 *     cc -o planner_exec planner_exec.c $(pkg-config --cflags --libs jansson)
 * and run by vbslab plan alexnet --memory 20MiB --planner exec:./planner_exec
 */
#include <jansson.h>
#include <stdlib.h>

static json_t *layers; /* layer k is element k - 1; tensor 0 is the network's input */

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static int is_read(size_t tensor, size_t from, size_t to) /* by one of these layers */
{
    json_t *inputs, *input;
    size_t i;
    for (; from <= to; from++)
        json_array_foreach((inputs = json_object_get(json_array_get(layers, from - 1), "inputs")), i, input)
            if (json_integer_value(input) == (json_int_t)tensor)
                return 1;
    return 0;
}

/* Adds the steps of batch samples, by the fastest rows; 0 where they do not fit the budget. */
static int add_steps(json_t *steps, json_int_t batch, json_int_t budget, json_int_t input_bytes)
{
    for (size_t k = 1, n = json_array_size(layers), i; k <= n; k++) {
        json_t *layer = json_array_get(layers, k - 1), *row, *best = NULL;
        json_int_t live = number(layer, "out_bytes") + (is_read(0, k, k) ? input_bytes : 0);
        for (i = 1; i < k; i++)
            live += is_read(i, k, n) ? number(json_array_get(layers, i - 1), "out_bytes") : 0;
        json_array_foreach(json_object_get(layer, "rows"), i, row)
            if (number(row, "batch") == batch && batch * live + number(row, "ws_bytes") <= budget &&
                (!best || json_number_value(json_object_get(row, "time_us")) <
                              json_number_value(json_object_get(best, "time_us"))))
                best = row;
        if (!best)
            return 0;
        json_array_append_new(steps, json_pack("{s:i, s:I, s:O}", "layer", (int)k, "batch", batch,
                                               "algorithm", json_object_get(best, "algorithm")));
    }
    return 1;
}

int main(void)
{
    json_t *problem = json_loadf(stdin, 0, NULL), *budget, *steps = json_array(), *plan;
    json_int_t request = number(problem, "request"), input = number(problem, "input_bytes"), batch, done;
    char *text;
    size_t b;
    layers = json_object_get(problem, "layers");
    json_array_foreach(json_object_get(problem, "budgets"), b, budget) {
        json_int_t bytes = json_integer_value(budget);
        for (batch = request; batch > 0; batch--)
            if (json_array_clear(steps) == 0 && request % batch == 0 && add_steps(steps, batch, bytes, input))
                break;
        for (done = batch; batch > 0 && done < request; done += batch)
            add_steps(steps, batch, bytes, input);
        plan = json_pack("{s:s, s:I, s:I, s:O}", "format", "vbslab-schedule-1", "request", request,
                         "memory_bytes", bytes, "steps", steps);
        text = batch > 0 ? json_dumps(plan, JSON_COMPACT) : NULL;
        puts(text ? text : "null");
        free(text);
        json_decref(plan);
    }
    json_decref(steps);
    json_decref(problem);
}
