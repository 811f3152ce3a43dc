// Eigen's product of a sparse matrix with a dense one, behind functions of C.
#include <Eigen/Core>
#include <Eigen/SparseCore>

using Sparse = Eigen::SparseMatrix<float, Eigen::RowMajor, int>;
using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

extern "C" void eigen_product(int n_rows, int n_columns, int n, const int *starts,
                              const int *columns, const float *values, const float *input,
                              int batch, float *output, int threads)
{
    Eigen::Map<const Sparse> matrix(n_rows, n_columns, n, starts, columns, values);
    Eigen::setNbThreads(threads);
    if (batch == 1) {
        Eigen::Map<const Eigen::VectorXf> from(input, n_columns);
        Eigen::Map<Eigen::VectorXf> to(output, n_rows);
        to.noalias() = matrix * from;
        return;
    }
    Eigen::Map<const Dense> from(input, n_columns, batch);
    Eigen::Map<Dense> to(output, n_rows, batch);
    to.noalias() = matrix * from;
}
