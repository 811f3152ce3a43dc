"""k-means of the weights in FILE (floats of 32 bits) by libraries: prints a line of CSV for each
with the squared error, the entropy of the indices in bits, and the seconds it took.

    kmeans.py FILE CLUSTERS
"""
import sys
import time

import numpy
import scipy
import sklearn
from scipy.cluster.vq import kmeans2
from sklearn.cluster import KMeans


def judge(weights, centres):
    """The squared error and the entropy where each weight takes its nearest centre."""
    centres = numpy.sort(numpy.ravel(centres).astype(numpy.float64))
    index = numpy.searchsorted((centres[1:] + centres[:-1]) / 2, weights)
    shares = numpy.bincount(index, minlength=len(centres)) / len(weights)
    shares = shares[shares > 0]
    error = ((weights - centres[index]) ** 2).sum()
    return error, -(shares * numpy.log2(shares)).sum()


def main():
    single = numpy.fromfile(sys.argv[1], dtype=numpy.float32)
    weights = single.astype(numpy.float64)
    clusters = int(sys.argv[2])
    power = (weights ** 2).sum()
    evenly = numpy.linspace(weights.min(), weights.max(), clusters).reshape(-1, 1)
    column = single.reshape(-1, 1)

    def library(start, runs, points):
        model = KMeans(clusters, init=start, n_init=runs, max_iter=300, random_state=1)
        return model.fit(points).cluster_centers_

    methods = [
        ("scikit-learn from even centres", lambda: library(evenly.astype("f4"), 1, column)),
        ("scikit-learn from k-means++", lambda: library("k-means++", 1, column)),
        ("scikit-learn from k-means++ ten times on a tenth",
         lambda: library("k-means++", 10, column[::10])),
        ("SciPy kmeans2 from even centres",
         lambda: kmeans2(weights, evenly.ravel(), iter=100, minit="matrix")[0]),
    ]
    print(f"# libraries: scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}")
    print("method,clusters,relative_error,entropy,s")
    for name, run in methods:
        begin = time.perf_counter()
        centres = run()
        seconds = time.perf_counter() - begin
        error, entropy = judge(weights, centres)
        print(f"{name},{clusters},{error / power:.4e},{entropy:.4f},{seconds:.2f}", flush=True)


main()
