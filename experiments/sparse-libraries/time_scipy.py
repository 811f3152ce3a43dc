"""time_scipy.py ROWS COLUMNS DENSITY ROUNDS BATCH... - the product of a sparse matrix in compressed
rows with a dense one by SciPy, which computes on one thread. Prints lines of CSV like time_products;
the matrix is random, and its values do not matter for the time."""
import sys
import time

import numpy
import scipy.sparse


def main():
    rows, columns = int(sys.argv[1]), int(sys.argv[2])
    density, rounds = float(sys.argv[3]), int(sys.argv[4])
    random = numpy.random.default_rng(1)
    matrix = scipy.sparse.random(rows, columns, density, "csr", "f4", random)
    n_bytes = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    for batch in map(int, sys.argv[5:]):
        dense = random.random((columns, batch), "f4")
        vector = dense[:, 0].copy() if batch == 1 else dense
        times = []
        for _ in range(rounds):
            begin = time.process_time()
            output = matrix @ vector
            times.append(1e3 * (time.process_time() - begin))
        exact = matrix[:40].astype("f8") @ vector
        difference = abs(output[:40] - exact).max() / abs(exact).max()
        times.sort()
        print(f"{rows}x{columns},{density:g},{batch},1,SciPy,{times[0]:.3f},"
              f"{times[rounds // 2]:.3f},{n_bytes},{difference:.1e}", flush=True)


main()
