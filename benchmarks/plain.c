/* The recurrence of the alignment machine as a plain loop, for comparison.
 *
 * Lattice states are in topological order; arcs into state q are
 * in_arc[in_offset[q]] .. in_arc[in_offset[q + 1] - 1]. Rows hold order layers of
 * length + 1 gains each. The path is found by evaluating the transitions again, the first
 * that fits: without the library's rule for ties, which needs a search of its own.
 */
#include <math.h>
#include <stddef.h>

static inline float larger(float a, float b) { return a > b ? a : b; }

static void forward(float *restrict rows, const int *src, const int *label, const int *in_arc,
                    const int *in_offset, int start, int states, const int *reference, int length,
                    int order) {
    const int width = length + 1, size = order * width;
    for (size_t cell = 0; cell < (size_t)states * size; cell++) rows[cell] = -INFINITY;
    rows[(size_t)start * size] = 0.0f;
    for (int state = 0; state < states; state++) {
        float *restrict row = rows + (size_t)state * size;
        for (int index = in_offset[state]; index < in_offset[state + 1]; index++) {
            const int arc = in_arc[index], word = label[arc];
            const float *restrict from = rows + (size_t)src[arc] * size;
            if (word == 0) {
                for (int place = 0; place < size; place++) row[place] = larger(row[place], from[place]);
                continue;
            }
            for (int place = 0; place < width; place++) row[place] = larger(row[place], from[place] - 1.0f);
            for (int place = 1; place < width; place++) row[place] = larger(row[place], from[place - 1]);
            for (int place = 0; place < length; place++) {
                if (reference[place] != word) continue;
                for (int run = 0; run < order; run++) {
                    float *there = row + (run + 1 < order ? run + 1 : order - 1) * width + place + 1;
                    *there = larger(*there, from[run * width + place] + (float)(run + 1));
                }
            }
        }
        for (int run = 1; run < order; run++)
            for (int place = 0; place < width; place++)
                row[place] = larger(row[place], row[run * width + place]);
        for (int place = 1; place < width; place++) row[place] = larger(row[place], row[place - 1]);
    }
}

/* Returns the best gain; writes the arcs of a best path, last first, and their number. */
float search(float *restrict rows, const int *src, const int *label, const int *in_arc,
             const int *in_offset, const double *final, int start, int states,
             const int *reference, int length, int order, int *path, int *steps) {
    const int width = length + 1, size = order * width;
    forward(rows, src, label, in_arc, in_offset, start, states, reference, length, order);
    int state = -1, place = length, run = 0;
    float best = -INFINITY;
    for (int q = 0; q < states; q++)
        if (final[q] > -INFINITY && rows[(size_t)q * size + length] > best) {
            best = rows[(size_t)q * size + length];
            state = q;
        }
    *steps = 0;
    while (state >= 0 && (state != start || place > 0 || run > 0)) {
        const float *row = rows + (size_t)state * size;
        const float value = row[run * width + place];
        int moved = 0;
        if (run == 0) {
            for (int other = 1; other < order && !moved; other++)
                if (row[other * width + place] == value) { run = other; moved = 1; }
            if (moved) continue;
            if (place > 0 && row[place - 1] == value) { place--; continue; }
        }
        for (int index = in_offset[state]; index < in_offset[state + 1] && !moved; index++) {
            const int arc = in_arc[index], word = label[arc];
            const float *from = rows + (size_t)src[arc] * size;
            if (word == 0) {
                if (from[run * width + place] == value) moved = 1;
            } else {
                if (place > 0 && reference[place - 1] == word)
                    for (int other = 0; other < order && !moved; other++)
                        if ((other + 1 < order ? other + 1 : order - 1) == run &&
                            from[other * width + place - 1] + (float)(other + 1) == value) {
                            run = other; place--; moved = 1;
                        }
                if (!moved && run == 0) {
                    if (place > 0 && from[place - 1] == value) { place--; moved = 1; }
                    else if (from[place] - 1.0f == value) moved = 1;
                }
            }
            if (moved) { path[(*steps)++] = arc; state = src[arc]; }
        }
        if (!moved) break;
    }
    return best;
}

/* A batch, one lattice after the other; values and path lengths out. */
void search_batch(float *rows, int problems, const long *arc_start, const long *state_start,
                  const int *starts, const int *src, const int *label, const int *in_arc,
                  const int *in_offset, const double *final, const long *reference_start,
                  const int *reference, int order, float *values, int *paths, int *steps) {
    for (int p = 0; p < problems; p++) {
        const long a = arc_start[p], s = state_start[p];
        values[p] = search(rows, src + a, label + a, in_arc + a, in_offset + s + p, final + s,
                           starts[p], (int)(state_start[p + 1] - s), reference + reference_start[p],
                           (int)(reference_start[p + 1] - reference_start[p]), order, paths + s,
                           steps + p);
    }
}
