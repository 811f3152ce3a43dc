/* Loading the libraries: the table of their functions is filled by dlopen and dlsym. */
#include "backend/cudnn/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* A function of a library, and the member of struct cu_api that points to it. */
struct cu_function {
    const char *name;
    size_t offset;
};

/* The headers may declare a function by another name, for which they have a macro: the library has
 * that name. */
#define TEXT(name)         #name
#define FUNCTION(function) {TEXT(function), offsetof(struct cu_api, function)},

static const struct cu_function runtime_functions[] = {CU_RUNTIME_LIST(FUNCTION)};
static const struct cu_function cudnn_functions[] = {CU_CUDNN_LIST(FUNCTION)};

struct cu_library {
    char title[24]; /* its name, with the version of the headers */
    char soname[24];
    const char *file;
    const struct cu_function *functions;
    size_t n_functions;
};

static bool find_functions(struct cu_api *api, const struct cu_library *library, void *loaded,
                           char *why, size_t size)
{
    for (size_t i = 0; i < library->n_functions; i++) {
        const struct cu_function *f = &library->functions[i];
        void *address = dlsym(loaded, f->name);

        if (!address) {
            snprintf(why, size, "vbslab was built for %s: there is no %s in %s", library->title,
                     f->name, library->file);
            return false;
        }
        memcpy((char *)api + f->offset, &address, sizeof address);
    }
    return true;
}

static bool load(struct cu_api *api, const struct cu_library *library, char *why, size_t size)
{
    /* Its code stays in the process, because it has threads and functions for the end of it. */
    void *loaded = dlopen(library->file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool found;

    if (!loaded) {
        snprintf(why, size, "%s cannot be loaded (%s); LD_LIBRARY_PATH can name its folder",
                 library->title, dlerror());
        return false;
    }
    found = find_functions(api, library, loaded, why, size);
    dlclose(loaded);
    return found;
}

bool cu_load(struct cu_api *api, const char *cudart, const char *cudnn, char *why, size_t size)
{
    struct cu_library runtime = {.functions = runtime_functions,
                                 .n_functions =
                                     sizeof runtime_functions / sizeof *runtime_functions};
    struct cu_library library = {.functions = cudnn_functions,
                                 .n_functions = sizeof cudnn_functions / sizeof *cudnn_functions};
    struct cu_api found = {0};

    snprintf(runtime.title, sizeof runtime.title, "CUDA %d.%d", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
    snprintf(runtime.soname, sizeof runtime.soname, "libcudart.so.%d", CUDART_VERSION / 1000);
    snprintf(library.title, sizeof library.title, "cuDNN %d.%d", CUDNN_MAJOR, CUDNN_MINOR);
    snprintf(library.soname, sizeof library.soname, "libcudnn.so.%d", CUDNN_MAJOR);
    runtime.file = cudart ? cudart : runtime.soname;
    library.file = cudnn ? cudnn : library.soname;
    if (!load(&found, &runtime, why, size) || !load(&found, &library, why, size))
        return false;
    *api = found;
    return true;
}
