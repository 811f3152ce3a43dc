# vbslab. `make help` lists the targets.
#
# BUILD   folder for everything that is made (default build)
# ROOMS   rooms of src/ to build, lowest first
# OPT     optimisation and debugging;  CFLAGS, LDFLAGS are added at the end
# CUDA    no: without the cudnn backend; yes: it must be built; else it is built where the headers of CUDA 13
#         and cuDNN 9 are found, in the folders of CUDA_HOME, by pkg-config or in the usual folders
# COMMIT  what tells builds of one version apart (default: of a checkout, its commit)
# V=1     shows the commands
# JOBS    how many compilers and tests run at once (default: one per core)
# T       words: check, test and the sanitizers run only tests whose path holds one of them (T=unit/plan)

VERSION = 0.2.0
# Programs linked with another minor version of 0.x are not compatible.
ABI     = $(basename $(VERSION))
# The commit of a checkout, by which builds of one version are told apart; empty elsewhere.
COMMIT ?= $(if $(wildcard .git),$(shell git describe --always --dirty --exclude='*' 2>/dev/null))
BUILD  ?= build
PREFIX ?= /usr/local
DESTDIR =
ROOMS  ?= base data coded model profile backend eval quantize train prune sensitivity tune store schedule place paper plan replay outside exec turns learn report teach study predict mixed sweep simple cli
OPT    ?= -O2 -g
JOBS   ?= $(shell nproc)
comma   = ,
ifeq ($(origin CC),default)
CC      = gcc
endif
Q       = $(if $(V),,@)

WARN = -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
       -Wcast-qual -Wwrite-strings -Wformat=2 -Werror
PKGS = gsl jansson sqlite3 libprotobuf-c zlib nettle
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
ALL_CFLAGS  = -std=c17 -D_GNU_SOURCE -fPIC -pthread $(OPT) $(WARN) -Iinclude -Isrc -Itests -I$(BUILD) \
              $(PKG_CFLAGS) $(CFLAGS)
# The one file in C++. It needs no run-time types, and neither do checks of sanitizers, whose parts for
# C++ only clang++ links.
CXX_CFLAGS  = $(filter-out -Wstrict-prototypes -Wmissing-prototypes,$(patsubst -std=c17,-std=c++17,$(ALL_CFLAGS))) \
              -fno-rtti -fvisibility=hidden -fno-sanitize=vptr$(if $(findstring clang,$(CC)),$(comma)function)
# oneDNN of Debian runs its threads with libgomp; threads are counted and bound through it.
OWN_LIBS = -ldnnl -l:libgomp.so.1 -lstdc++ -lm -pthread $(CUDA_RPATH)
LIBS     = $(PKG_LIBS) $(OWN_LIBS)

# Finds the headers of the CUDA runtime and of cuDNN, each in its own folder. The libraries are loaded at
# run time: the program looks for them in LD_LIBRARY_PATH, then in the folders in which they are found here.
CUDA ?= auto
CUDA_PC      := $(shell pkg-config --list-all 2>/dev/null | sed -n 's/^\(cudart[^ ]*\) .*/\1/p' | tail -n 1)
CUDA_FOLDERS := $(CUDA_HOME) $(if $(CUDA_PC),$(shell pkg-config --variable=cudaroot $(CUDA_PC))) \
                $(wildcard /usr/local/cuda /opt/cuda /usr/lib/cuda) /usr
CUDA_ARCH    := $(shell uname -m)
cuda_include  = $(firstword $(patsubst %/$(1),%,$(wildcard $(foreach d,$(CUDA_FOLDERS), \
                $(d)/include/$(1) $(d)/targets/$(CUDA_ARCH)-linux/include/$(1) \
                $(d)/include/$(CUDA_ARCH)-linux-gnu/$(1)))))
cuda_lib      = $(firstword $(patsubst %/$(1),%,$(wildcard $(foreach d,$(CUDA_FOLDERS), \
                $(d)/lib64/$(1) $(d)/targets/$(CUDA_ARCH)-linux/lib/$(1) \
                $(d)/lib/$(CUDA_ARCH)-linux-gnu/$(1) $(d)/lib/$(1)))))
ifneq ($(CUDA),no)
CUDA_INCLUDES := $(call cuda_include,cuda_runtime_api.h) $(call cuda_include,cudnn.h)
HAS_CUDA      := $(if $(filter 2,$(words $(CUDA_INCLUDES))),yes)
ifeq ($(CUDA)$(HAS_CUDA),yes)
$(error CUDA=yes, but the headers of CUDA and cuDNN are not both found; CUDA_HOME says where)
endif
endif
ifdef HAS_CUDA
CUDA_CFLAGS = $(addprefix -isystem ,$(sort $(filter-out /usr/include,$(CUDA_INCLUDES))))
# Their names have the major versions, for which the headers are.
CUDART_SO  := libcudart.so.$(shell sed -n 's/^.define *CUDART_VERSION *\([0-9]*\)[0-9][0-9][0-9] *$$/\1/p' \
              $(firstword $(CUDA_INCLUDES))/cuda_runtime_api.h)
CUDNN_SO   := libcudnn.so.$(shell sed -n 's/^.define *CUDNN_MAJOR *\([0-9]*\) *$$/\1/p' \
              $(lastword $(CUDA_INCLUDES))/cudnn_version.h)
CUDA_LIBS  := $(call cuda_lib,$(CUDART_SO)) $(call cuda_lib,$(CUDNN_SO))
CUDA_RPATH  = $(foreach d,$(sort $(filter-out /usr/lib /usr/lib/%,$(CUDA_LIBS))),-Wl,-rpath,$(d))
LEFT_OUT    = src/backend/no_cudnn.c
else
LEFT_OUT    = $(wildcard src/backend/cudnn/*.c)
endif

# The built-in networks, in the order in which they are listed.
MODELS     = alexnet vgg-s vgg-16 vgg-19 googlenet resnet-50 resnet-56-cifar squeezenet-v1.0 \
             mobilenet-v1 c3d lenet-300-100 lenet-5 resnet-8 resnet-20
GENERATED += $(BUILD)/generated/models.c
GENERATED += $(BUILD)/generated/calibration.c
GENERATED += $(BUILD)/generated/schema.c
GENERATED += $(BUILD)/generated/plots.c
GENERATED += $(BUILD)/generated/page.c
GENERATED += $(BUILD)/generated/teaching.c
GENERATED += $(BUILD)/generated/lesson_texts.c
GENERATED += $(BUILD)/generated/lesson_pages.c
GENERATED += $(BUILD)/generated/onnx.pb-c.c
# The official definition of ONNX files.
ONNX_PROTO ?= $(firstword $(wildcard /usr/include/onnx/onnx.proto /usr/local/include/onnx/onnx.proto) \
              /usr/include/onnx/onnx.proto)
# D3 as one script, of which every page has a copy.
D3 ?= /usr/share/nodejs/d3/dist/d3.min.js

ROOM_SRC = $(foreach r,$(ROOMS),$(wildcard src/$(r)/*.c src/$(r)/*/*.c src/$(r)/*/*/*.c))
LIB_CXX = $(foreach r,$(ROOMS),$(wildcard src/$(r)/*.cc))
LIB_SRC = $(filter-out $(LEFT_OUT) src/cli/%,$(ROOM_SRC))
CLI_SRC = $(filter src/cli/%,$(ROOM_SRC))
LIB_OBJ = $(LIB_SRC:%.c=$(BUILD)/%.o) $(LIB_CXX:%.cc=$(BUILD)/%.o) $(GENERATED:%.c=%.o)
CLI_OBJ = $(CLI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/generated/build.o $(BUILD)/generated/notebook.o
HEADERS = $(wildcard include/vbslab/*.h)

# Tests of the cudnn backend run on a fake of CUDA and cuDNN: one library with the names of both.
FAKE_CUDA    = $(wildcard tests/fake/cud*.c) tests/fake/gpu_env.c
FAKE_LIBRARY = $(if $(HAS_CUDA),$(BUILD)/tests/fake/$(CUDART_SO))
CUDA_TESTS   = $(wildcard tests/unit/backend/cudnn*.c tests/unit/backend/fake_cuda*.c)
TESTS       ?= $(filter-out $(if $(HAS_CUDA),,$(CUDA_TESTS)),$(wildcard tests/unit/*/*.c))
TEST_SCRIPTS = $(wildcard tests/cli/*.t)
# An archive of the code that tests share, from which each test takes what it uses.
TEST_HELPERS = $(wildcard tests/support/*.c tests/cases/*.c tests/reference/*/*.c) \
               $(filter-out tests/fuzz/main.c tests/fuzz/onnx.c,$(wildcard tests/fuzz/*.c)) \
               $(filter-out $(FAKE_CUDA) tests/fake/real_gpu.c,$(wildcard tests/fake/*.c))
TEST_OBJ     = $(TEST_HELPERS:%.c=$(BUILD)/%.o)
TEST_BIN     = $(TESTS:%.c=$(BUILD)/%)
# Calls that a test makes fail: the linker redirects them.
WRAP_MALLOC        = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=aligned_alloc
LDFLAGS_fault/alloc = $(WRAP_MALLOC)
LDFLAGS_fault/coded = $(WRAP_MALLOC)
LDFLAGS_fault/data = $(WRAP_MALLOC)
LDFLAGS_fault/explain = $(WRAP_MALLOC)
LDFLAGS_fault/recompute = $(WRAP_MALLOC)
LDFLAGS_fault/page = $(WRAP_MALLOC)
LDFLAGS_fault/teach = $(WRAP_MALLOC)
LDFLAGS_coded/recode = $(WRAP_MALLOC),--wrap=free
LDFLAGS_fault/model = $(WRAP_MALLOC)
LDFLAGS_fault/backend = $(WRAP_MALLOC)
LDFLAGS_fault/operators = $(WRAP_MALLOC)
LDFLAGS_fault/place = $(WRAP_MALLOC)
LDFLAGS_fault/plan = $(WRAP_MALLOC)
LDFLAGS_fault/outside = $(WRAP_MALLOC)
LDFLAGS_fault/optimal = $(WRAP_MALLOC)
LDFLAGS_fault/study = $(WRAP_MALLOC)
LDFLAGS_fault/sweep = $(WRAP_MALLOC),--wrap=vasprintf,--wrap=asprintf
LDFLAGS_fault/train = $(WRAP_MALLOC)
LDFLAGS_fault/training = $(WRAP_MALLOC)
LDFLAGS_fault/tune = $(WRAP_MALLOC)
LDFLAGS_fault/turns = $(WRAP_MALLOC)
LDFLAGS_fault/weights = $(WRAP_MALLOC)
LDFLAGS_fault/windows = $(WRAP_MALLOC)
LDFLAGS_paper/mmcnn_rows = $(WRAP_MALLOC)
LDFLAGS_profile/posterior_odd = $(WRAP_MALLOC)
LDFLAGS_fault/report = $(WRAP_MALLOC)
LDFLAGS_report/by_turns = $(WRAP_MALLOC)
LDFLAGS_exec/weights_file = -Wl,--wrap=open
LDFLAGS_base/leftover = -Wl,--wrap=open
LDFLAGS_exec/rings = -Wl,--wrap=mmap,--wrap=memfd_create,--wrap=ftruncate
LDFLAGS_fault/predict = $(WRAP_MALLOC)
LDFLAGS_fault/prune = $(WRAP_MALLOC)
LDFLAGS_fault/quantize = $(WRAP_MALLOC)
LDFLAGS_fault/replay = $(WRAP_MALLOC)
LDFLAGS_plan/table_refusals = $(WRAP_MALLOC)
LDFLAGS_base/npy = $(WRAP_MALLOC)
LDFLAGS_simple/simple = $(WRAP_MALLOC)
LDFLAGS_simple/within = -Wl,--wrap=vbs_exec_process_bytes,--wrap=vbs_exec_place,--wrap=vbs_exec_new
LDFLAGS_backend/cudnn_learn = -Wl,--wrap=vbs_exec_new
LDFLAGS_learn/beside = $(WRAP_MALLOC)
LDFLAGS_learn/contender = $(WRAP_MALLOC)
LDFLAGS_learn/learn = $(WRAP_MALLOC)
LDFLAGS_learn/inside = $(WRAP_MALLOC)
LDFLAGS_fault/store = -Wl,--wrap=sqlite3_step

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: always all help test check proofs tests examples deps demo quick bench scale plots docs asan ubsan sanitize layers tsan fuzz style \
        test-slurm test-gpu test-arm64 python test-python notebooks test-notebooks install uninstall clean

all: $(BUILD)/vbslab $(BUILD)/libvbslab.so $(BUILD)/vbslab.pc ##: the program and the libraries

help: ##: this list
	@sed -e ':a;/\\$$/{N;s/\\\n//;ta}' Makefile | sed -n 's/^\([a-z0-9-]*\):.*##: /  \1\t/p' | expand -t 14

$(BUILD)/src/backend/cudnn/%.o: ALL_CFLAGS += $(CUDA_CFLAGS)

## --- building ------------------------------------------------------------------------------

# Changes when the list of parts that are left out changes.
$(BUILD)/generated/left-out: always
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(LEFT_OUT)' | cmp -s - $@ || echo '$(LEFT_OUT)' > $@

# Objects of different folders may have one name: members are appended, never replaced.
$(BUILD)/libvbslab.a: $(LIB_OBJ) $(BUILD)/generated/left-out
	$(Q)rm -f $@
	$(Q)ar qcs $@ $(LIB_OBJ)

# Thin archives for the tests: the linker names the objects that it takes from them.
$(BUILD)/thin.a: $(LIB_OBJ) $(BUILD)/generated/left-out
	$(Q)rm -f $@
	$(Q)ar qcsT $@ $(LIB_OBJ)

$(BUILD)/tests/thin.a: $(TEST_OBJ)
	$(Q)rm -f $@
	$(Q)ar qcsT $@ $(TEST_OBJ)

# Only what the public headers declare is visible in the shared library.
$(BUILD)/libvbslab.map: $(HEADERS)
	$(Q)mkdir -p $(@D)
	$(Q){ echo 'VBSLAB_$(ABI) { global:'; grep -oh 'vbs_[a-z0-9_]*(' $(HEADERS) | sort -u | tr '(' ';'; \
	     echo 'local: *; };'; } > $@

$(BUILD)/libvbslab.so: $(LIB_OBJ) $(BUILD)/generated/left-out $(BUILD)/libvbslab.map
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libvbslab.so.$(ABI) \
	    -Wl,--version-script=$(BUILD)/libvbslab.map -o $@ $(LIB_OBJ) $(LIBS)

$(BUILD)/vbslab: $(CLI_OBJ) $(BUILD)/libvbslab.a
	@echo "  link    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/vbslab.pc: Makefile $(BUILD)/generated/left-out
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' 'libdir=$${prefix}/lib' '' \
	    'Name: vbslab' 'Description: convolutional networks inside a memory budget' \
	    'Version: $(VERSION)' 'Requires.private: $(PKGS)' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -lvbslab' 'Libs.private: $(OWN_LIBS)' > $@

$(BUILD)/%.o: %.c
	@echo "  compile $<"
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.cc
	@echo "  compile $<"
	@mkdir -p $(@D)
	$(Q)$(CC) $(CXX_CFLAGS) -MMD -MP -c -o $@ $<

# Loops over floats, which gcc vectorizes only with -O3.
LOOPS = training/loops training/max_pool training/direct kernels/nest kernels/elementwise operators/binary operators/copy operators/reduce operators/resize
$(LOOPS:%=$(BUILD)/src/backend/onednn/%.o) $(BUILD)/src/train/optimise.o: ALL_CFLAGS += $(if $(filter -O2,$(OPT)),-O3)

# Kernels of coded weights, once for each kind of processor; the program chooses when it runs.
CODED_KERNEL = $(BUILD)/src/coded/layer/kernel
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
$(CODED_KERNEL)_avx2.o: ALL_CFLAGS += -mavx2 -mfma -mbmi2 -mlzcnt
$(CODED_KERNEL)_avx512.o: ALL_CFLAGS += -mavx512f -mfma -mbmi2 -mlzcnt -mprefer-vector-width=512
endif
# Products of small matrices, for processors with AVX2, which the program asks for when it runs.
TILE = $(BUILD)/src/backend/onednn/training/tile.o
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
$(TILE): ALL_CFLAGS += -mavx2 -mfma -ffp-contract=fast $(if $(filter -O2,$(OPT)),-O3)
endif
# make fuzz calls none of them; with its sanitizers clang takes minutes for each.
$(CODED_KERNEL)_%.o: ALL_CFLAGS += -ffp-contract=fast $(if $(filter -O2,$(OPT)),-O3) \
                                   $(if $(findstring fuzzer,$(OPT)),-fno-sanitize=all)

# Loops over encoded values, once for each kind of processor; the program chooses when it runs. They
# round as they are written. clang makes no vectors of some loops.
ENCODED_ROWS = $(BUILD)/src/backend/onednn/rows
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
$(ENCODED_ROWS)/avx2.o: ALL_CFLAGS += -mavx2 -mfma
$(ENCODED_ROWS)/avx512.o: ALL_CFLAGS += -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vbmi -mfma -mprefer-vector-width=512
endif
$(ENCODED_ROWS)/%.o: ALL_CFLAGS += -ffp-contract=off -fopenmp-simd -Wno-pass-failed $(if $(filter -O2,$(OPT)),-O3)

# Loops over the units of recurrent operators, once for each kind of processor.
CELLS = $(BUILD)/src/backend/onednn/cells
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
$(CELLS)/avx2.o: ALL_CFLAGS += -mavx2 -mfma
$(CELLS)/avx512.o: ALL_CFLAGS += -mavx512f -mavx512dq -mfma -mprefer-vector-width=512
endif
$(CELLS)/%.o: ALL_CFLAGS += -ffp-contract=fast $(if $(filter -O2,$(OPT)),-O3)

# Loops of convolutions by Winograd's method, once for each kind of processor.
WINOGRAD = $(BUILD)/src/backend/onednn/winograd
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
$(WINOGRAD)/avx2.o: ALL_CFLAGS += -mavx2 -mfma
$(WINOGRAD)/avx512.o: ALL_CFLAGS += -mavx512f -mavx512dq -mfma -mprefer-vector-width=512
endif
$(WINOGRAD)/%.o: ALL_CFLAGS += -ffp-contract=fast $(if $(filter -O2,$(OPT)),-O3)

$(BUILD)/generated/%.o: $(BUILD)/generated/%.c
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/generated/models.c: tools/embed.sh $(MODELS:%=models/%.net)
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh vbs_models $(MODELS:%=models/%.net) > $@

# The networks from whose times predictions are learnt; the first has the most weights, for copies.
CALIBRATION = $(sort $(wildcard db/calibration/*.net))
$(BUILD)/generated/calibration.c: tools/embed.sh $(CALIBRATION)
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh vbs_calibration_networks $(CALIBRATION) > $@

# Changes when the commit does.
BUILD_TEXT = const char cli_build[] = "$(VERSION)$(addprefix -,$(COMMIT))";
$(BUILD)/generated/build.c: always
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(BUILD_TEXT)' | cmp -s - $@ || echo '$(BUILD_TEXT)' > $@

$(BUILD)/generated/schema.c: tools/embed.sh $(sort $(wildcard db/*.sql))
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh vbs_schema $(sort $(wildcard db/*.sql)) > $@

$(BUILD)/generated/plots.c: tools/embed.sh $(sort $(wildcard plots/*.gp))
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh vbs_plots $(sort $(wildcard plots/*.gp)) > $@

# The files of pages in the order of enum page_file (src/report/html/file.c).
PAGE_FILES = $(addprefix src/report/html/page.,html css) $(D3) $(addprefix src/report/html/,page.js \
             report.html report.js explain.html explain.js)
$(BUILD)/generated/page.c: tools/embed.sh $(PAGE_FILES)
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh vbs_page_files $(PAGE_FILES) > $@

$(BUILD)/generated/teaching.c: tools/embed.sh $(sort $(wildcard db/teaching/*.csv))
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh vbs_teaching $(sort $(wildcard db/teaching/*.csv)) > $@

# The course, as text and as pages.
LESSONS = $(sort $(wildcard docs/course/[1-9]-*.md))
$(BUILD)/generated/course/%.txt: docs/course/%.md tools/lesson.sh
	$(Q)mkdir -p $(@D)
	$(Q)tools/lesson.sh text $< > $@

$(BUILD)/generated/course/%.html: docs/course/%.md tools/lesson.sh src/teach/lesson.html $(wildcard docs/course/*.svg)
	$(Q)mkdir -p $(@D)
	$(Q)tools/lesson.sh page $< src/teach/lesson.html > $@

$(BUILD)/generated/lesson_texts.c: tools/embed.sh $(LESSONS:docs/course/%.md=$(BUILD)/generated/course/%.txt)
	$(Q)tools/embed.sh vbs_lesson_texts $(filter %.txt,$^) > $@

$(BUILD)/generated/lesson_pages.c: tools/embed.sh $(LESSONS:docs/course/%.md=$(BUILD)/generated/course/%.html)
	$(Q)tools/embed.sh vbs_lesson_pages $(filter %.html,$^) > $@

$(BUILD)/generated/notebook.c: tools/embed.sh src/cli/notebook/network.md
	$(Q)mkdir -p $(@D)
	$(Q)tools/embed.sh cli_notebook_files src/cli/notebook/network.md > $@

# The output of protoc-c is compiled without our warnings.
$(BUILD)/generated/onnx.pb-c.c: $(ONNX_PROTO)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(@D) -I$(dir $<) $<
$(BUILD)/generated/onnx.pb-c.h: $(BUILD)/generated/onnx.pb-c.c
$(BUILD)/generated/onnx.pb-c.o: WARN = -w
$(filter $(BUILD)/src/model/onnx/% $(BUILD)/src/model/export/% $(BUILD)/src/model/int8.o,$(LIB_OBJ)): $(BUILD)/generated/onnx.pb-c.h

# A test is linked anew when it changes, or an object that the linker took for it: link.d lists them.
# It may also list objects of sources that are gone, which are not linked, and neither are those of the fake,
# which are in its library.
TESTS_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(FAKE_CUDA),$(wildcard tests/*/*.c tests/*/*/*.c)))
LINK_TEST = $(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,--trace -o $@ $(filter $(CLI_OBJ) $(TESTS_OBJ),$^) $(BUILD)/tests/thin.a \
            $(BUILD)/thin.a $(1) $(TEST_LIBS) $(LIBS) > $@.trace && \
            awk -v t="$@" '/^$(subst /,\/,$(BUILD))\/.*\.o$$/ { print t ": " $$0 "\n" $$0 ":" }' $@.trace \
            > $@.link.d && rm $@.trace

$(TEST_BIN): $(BUILD)/%: $(BUILD)/%.o | $(BUILD)/tests/thin.a $(BUILD)/thin.a
	@echo "  link    $@"
	$(Q)$(call LINK_TEST,$(LDFLAGS_$(*:tests/unit/%=%)))

# The fake, which the backend loads as it does the real ones, for tests of the command line by LD_LIBRARY_PATH.
# Unit tests are linked with it because they also set its faults, and look for it before anywhere else.
$(FAKE_LIBRARY): $(FAKE_CUDA:%.c=$(BUILD)/%.o)
	@echo "  link    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ -lm
	$(Q)ln -sf $(@F) $(@D)/$(CUDNN_SO)

# The same tests on a real GPU, and the conformance cases of ONNX.
GPU_TESTS = $(if $(HAS_CUDA),$(addprefix $(BUILD)/tests/gpu/,cudnn cudnn_exec cudnn_learn))
$(GPU_TESTS): $(BUILD)/tests/gpu/%: $(BUILD)/tests/unit/backend/%.o $(BUILD)/tests/fake/real_gpu.o \
    | $(BUILD)/tests/thin.a $(BUILD)/thin.a
	@echo "  link    $@"
	@mkdir -p $(@D)
	$(Q)$(call LINK_TEST,$(LDFLAGS_backend/$*))

$(CUDA_TESTS:%.c=$(BUILD)/%): $(FAKE_LIBRARY)
$(CUDA_TESTS:%.c=$(BUILD)/%): TEST_LIBS = -L$(BUILD)/tests/fake -l:$(CUDART_SO) \
                                          -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../fake'
$(FAKE_CUDA:%.c=$(BUILD)/%.o) $(CUDA_TESTS:%.c=$(BUILD)/%.o): ALL_CFLAGS += $(CUDA_CFLAGS)

BENCHES = $(BUILD)/tests/bench/bench $(BUILD)/tests/bench/misses $(BUILD)/tests/bench/coded \
          $(BUILD)/tests/bench/placements $(BUILD)/tests/scale/store
$(BUILD)/tests/bench/bench: $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/misses.c %/coded.c %/placements.c,$(wildcard tests/bench/*.c)))
$(BUILD)/tests/bench/misses: $(BUILD)/tests/bench/misses.o
$(BUILD)/tests/bench/coded: $(BUILD)/tests/bench/coded.o
$(BUILD)/tests/bench/placements: $(BUILD)/tests/bench/placements.o
$(BUILD)/tests/scale/store: $(BUILD)/tests/scale/store.o
$(BENCHES): | $(BUILD)/tests/thin.a $(BUILD)/thin.a
	@echo "  link    $@"
	$(Q)$(LINK_TEST)

## --- trying ---------------------------------------------------------------------------------

deps: ##: installs the Debian packages that are missing (as root), or names them
	@tools/deps.sh

demo: deps ##: measures AlexNet and GoogLeNet, compares the planners, executes by turns, plots (under 4 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD=$(BUILD) tools/demo.sh

quick: deps ##: compares planners on shipped profiles, in ten seconds
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(BUILD)/vbslab demo

# What the tests of the Python package need; without them make test skips these.
PYTHON_PACKAGES = python3-cffi python3-dev python3-numpy python3-pandas python3-pytest python3-setuptools
PYTHON         ?= python3

test: deps ##: builds and runs every test, with a part of the random subjects and faults
	@tools/deps.sh $(PYTHON_PACKAGES) || echo "without them the tests of the Python package are skipped"
	@$(MAKE) --no-print-directory -j$(JOBS) all tests
	@$(MAKE) --no-print-directory check

# Built as a user builds them: with the public headers and the shared library.
EXAMPLE_OBJECTS = $(BUILD)/examples/planner_so.so
EXAMPLES = $(patsubst %.c,$(BUILD)/%,$(filter-out examples/planner_so.c,$(wildcard examples/*.c))) $(EXAMPLE_OBJECTS)
examples: $(EXAMPLES) ##: the programs of examples/, with the shared library

$(BUILD)/libvbslab.so.$(ABI): | $(BUILD)/libvbslab.so
	$(Q)ln -sf libvbslab.so $@

$(filter-out $(EXAMPLE_OBJECTS),$(EXAMPLES)): $(BUILD)/%: %.c $(HEADERS) $(BUILD)/libvbslab.so $(BUILD)/libvbslab.so.$(ABI)
	@echo "  example $@"
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -pedantic -pthread $(OPT) $(WARN) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< \
	    -L$(BUILD) -Wl,-rpath,'$$ORIGIN/..' -lvbslab $(EXAMPLE_LIBS)

$(BUILD)/examples/planner_exec: EXAMPLE_LIBS = $(shell pkg-config --libs jansson)

# A shared object needs the headers alone.
$(EXAMPLE_OBJECTS): $(BUILD)/%.so: %.c $(HEADERS)
	@echo "  example $@"
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -pedantic $(OPT) $(WARN) -Iinclude $(CFLAGS) $(LDFLAGS) -shared -fPIC -o $@ $<

tests: $(EXAMPLES) $(TEST_BIN) $(FAKE_LIBRARY)

# Tests that measure times or depend on when a signal comes run alone, after all others.
TIMED    = unit/profile/measure cli/break cli/run cli/experiments_measure cli/frame cli/store
matching = $(strip $(foreach t,$(2),$(if $(strip $(foreach word,$(1),$(findstring $(word),$(patsubst $(BUILD)/%,%,$(t))))),$(t))))
CHOSEN      = $(if $(T),$(call matching,$(T),$(TEST_BIN) $(TEST_SCRIPTS)),$(TEST_BIN) $(TEST_SCRIPTS))
CHOSEN_LAST = $(filter-out tests/cli/run_cap.t,$(call matching,$(TIMED:%=tests/%),$(CHOSEN)))
# The longest first, so that all cores end together.
LONG        = $(BUILD)/tests/unit/exec/exec tests/cli/run_cap.t $(BUILD)/tests/unit/fault/store $(BUILD)/tests/unit/exec/layout \
              $(BUILD)/tests/unit/backend/cudnn_exec $(BUILD)/tests/unit/backend/cudnn_faults $(BUILD)/tests/unit/plan/weights_odd \
              $(BUILD)/tests/unit/plan/joint_rows tests/cli/networks.t tests/cli/python.t tests/cli/interface.t
CHOSEN_MANY = $(filter $(LONG),$(CHOSEN)) $(filter-out $(CHOSEN_LAST) $(LONG),$(CHOSEN))
# The share of random subjects and of faults that check tries; proofs tries all.
TRIALS_PERCENT ?= 20
PROVE       = OMP_WAIT_POLICY=passive TRIALS_PERCENT=$(TRIALS_PERCENT) VBSLAB=$(abspath $(BUILD)/vbslab) BUILD=$(abspath $(BUILD)) CC="$(CC)" \
              prove --exec '' --failures --timer

check: $(if $(filter %.t,$(CHOSEN)),all) $(if $(filter %/examples.t %/outside.t,$(CHOSEN)),$(EXAMPLES)) $(if $(filter %/cudnn.t,$(CHOSEN)),$(FAKE_LIBRARY)) \
       $(filter $(BUILD)/%,$(CHOSEN)) ##: runs every test, or with T=WORDS those whose path holds a word
	$(foreach word,$(T),$(if $(call matching,$(word),$(CHOSEN)),,$(error no test has '$(word)' in its path)))
	$(if $(CHOSEN_MANY),@$(PROVE) -j $(JOBS) $(CHOSEN_MANY))
	$(if $(CHOSEN_LAST),@$(PROVE) $(CHOSEN_LAST))

proofs: ##: every test with all its random subjects and faults (15 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) all tests
	@$(MAKE) --no-print-directory check TRIALS_PERCENT=100

test-gpu: all $(GPU_TESTS) $(BUILD)/tests/unit/backend/conformance ##: the cudnn backend on this machine's GPU
	$(if $(GPU_TESTS),,$(error the cudnn backend is not built here: see docs/gpu.md))
	@VBSLAB=$(abspath $(BUILD)/vbslab) prove --exec '' --failures --timer tests/gpu/loading.t $(GPU_TESTS)
	@$(BUILD)/tests/unit/backend/conformance --backend cudnn --table

bench: all $(BUILD)/tests/bench/bench $(BUILD)/tests/bench/coded ##: speed as ratios in one run
	@OMP_PROC_BIND=true OMP_PLACES=cores $(BUILD)/tests/bench/bench
	@OMP_PROC_BIND=true OMP_PLACES=cores $(BUILD)/tests/bench/coded
	@VBSLAB=$(abspath $(BUILD)/vbslab) MODELS=$(abspath $(BUILD)/peers) experiments/peers/bench

# In a folder of its own under $TMPDIR or /tmp, which is removed at the end: some 5 GB of disk. SCALE
# gives other numbers of profiles, of kernels of a profile and of samples of a kernel than "2000 500 100".
scale: $(BUILD)/tests/scale/store ##: a store of 100 million samples: the time that commands take on it (10 minutes)
	@folder=$$(mktemp -d) && $(BUILD)/tests/scale/store $$folder $(SCALE); code=$$?; rm -rf $$folder; exit $$code

plots: all $(BUILD)/tests/bench/misses ##: the tables and figures of experiments/ anew, from the profiles of db/profiles
	@VBSLAB=$(abspath $(BUILD)/vbslab) MISSES=$(abspath $(BUILD)/tests/bench/misses) experiments/run

# $(1): name of the build; $(2): -fsanitize=; $(3): goals
sanitized = $(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)-$(1) \
            OPT="-O1 -g -fsanitize=$(2) -fno-sanitize-recover=all" LDFLAGS="-fsanitize=$(2)" $(3)
SANITIZER_OPTIONS = ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
                    TSAN_OPTIONS="suppressions=$(abspath tests/tsan.supp) halt_on_error=1"

asan: ##: every test under AddressSanitizer, leaks too
	@$(SANITIZER_OPTIONS) $(call sanitized,asan,address,check)

ubsan: ##: every test under UndefinedBehaviorSanitizer
	@$(SANITIZER_OPTIONS) $(call sanitized,ubsan,undefined,check)

# Tests of all rooms that take a second or two.
FAST = unit/base unit/model/model unit/model/onnx unit/model/corpus unit/profile/profile unit/store/store \
       unit/schedule unit/place/place unit/paper unit/plan/plan unit/plan/curve unit/plan/stream \
       unit/replay unit/exec/failures unit/exec/weights_file unit/report/report unit/simple/free_null \
       cli/bad_input cli/hostile cli/examples
sanitize: ##: fast tests of all rooms under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(SANITIZER_OPTIONS) $(call sanitized,sanitize,address$(comma)undefined,check T="$(or $(T),$(FAST))")

# Random matrices of weights, each coded and decoded by the library and by the reference. make test
# tries a few hundred.
LAYERS ?= 10000
layers: ##: LAYERS (10000) random layers of coded weights against the reference, under sanitizers
	@$(call sanitized,sanitize,address$(comma)undefined,$(BUILD)-sanitize/tests/unit/coded/coded)
	@$(SANITIZER_OPTIONS) $(BUILD)-sanitize/tests/unit/coded/coded $(LAYERS)

tsan: ##: the copy thread under ThreadSanitizer
	@$(SANITIZER_OPTIONS) $(call sanitized,tsan,thread,check T="$(or $(T),unit/exec/copy_thread)")

test-arm64: ##: builds everything for arm64, runs unit tests under qemu
	@tools/arm64.sh

python: all ##: the Python package as a wheel, in $(BUILD)/python
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" $(PYTHON) -m pip wheel -q --no-deps -w $(BUILD)/python ./python
	@ls $(BUILD)/python/*.whl

test-python: all ##: the Python package in fresh virtual environments, with packages of PyPI
	@[ "$$(command -v $(PYTHON))" != /usr/bin/python3 ] || tools/deps.sh python3-venv
	@PYTHON=$(PYTHON) $(PROVE) tests/python/install.t

# ONLY: some of them, such as ONLY="vbs-fig-8 my-network".
notebooks: all ##: the notebooks of notebooks-export anew, executed with packages of PyPI
	@BUILD=$(abspath $(BUILD)) VBSLAB=$(abspath $(BUILD)/vbslab) CC="$(CC)" PYTHON=$(PYTHON) JOBS=$(JOBS) tests/notebooks/notebooks.t make $(ONLY)

test-notebooks: all ##: notebooks-export as exported now; three notebooks executed (packages of PyPI)
	@[ "$$(command -v $(PYTHON))" != /usr/bin/python3 ] || tools/deps.sh python3-venv
	@PYTHON=$(PYTHON) $(PROVE) tests/notebooks/notebooks.t

test-slurm: all ##: a sweep on a real Slurm, on this machine (as root; two minutes)
	@tools/deps.sh slurmctld slurmd slurm-client munge
	@$(PROVE) tests/slurm/slurm.t

# Screenshots of the pages are in $(BUILD)/report.
test-report: all ##: pages of report and explain in a real Chromium (as root; a minute)
	@tools/deps.sh chromium chromium-driver python3-selenium
	@$(PROVE) tests/report/report.t

# Starts from tests/data/corpus and the tests' own inputs; needs clang and libclang-rt-dev. New
# inputs stay in $(BUILD)-fuzz/corpus. FUZZ_FLAGS: more of libFuzzer's options, such as -fork=2.
FUZZ_SECONDS ?= 60
FUZZ_SANITIZE = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
fuzz: ##: libFuzzer on the readers of files, for FUZZ_SECONDS (60)
	$(Q)mkdir -p $(BUILD)-fuzz/corpus
	$(Q)tests/fuzz/seeds.sh $(BUILD)-fuzz/seeds
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)-fuzz CC=clang \
	    OPT="-O1 -g $(FUZZ_SANITIZE) -fsanitize=fuzzer-no-link" \
	    LDFLAGS="-fsanitize=fuzzer" $(BUILD)-fuzz/fuzz_readers
	$(BUILD)-fuzz/fuzz_readers -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 \
	    -rss_limit_mb=2048 -print_final_stats=1 -dict=tests/fuzz/readers.dict $(FUZZ_FLAGS) \
	    -artifact_prefix=$(BUILD)-fuzz/ $(BUILD)-fuzz/corpus $(BUILD)-fuzz/seeds tests/data/corpus

$(BUILD)/fuzz_readers: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/*.c)) \
                       $(BUILD)/tests/reference/place/place_check.o $(BUILD)/libvbslab.a
	@echo "  link    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

docs: ##: the reference of the public headers as HTML, in $(BUILD)/docs
	@tools/deps.sh doxygen
	@mkdir -p $(BUILD)/docs
	@(cat docs/Doxyfile; echo 'OUTPUT_DIRECTORY = $(BUILD)/docs'; echo 'PROJECT_NUMBER = $(VERSION)') | doxygen -
	@echo "reference: $(BUILD)/docs/html/index.html"

style: all ##: layout, rooms, circles of calls and static checks of the sources
	@BUILD=$(BUILD) tools/style.sh

# What notebooks of experiments are made of and read.
EXPERIMENTS      = $(patsubst %/answer.md,%,$(wildcard experiments/*/answer.md))
EXPERIMENT_FILES = $(wildcard experiments/lib/*.sql $(foreach file,README.md answer.md *.csv *.sql,$(EXPERIMENTS:%=%/$(file)))) \
                   $(wildcard $(EXPERIMENTS:%=%/again.py)) \
                   $(foreach figure,$(basename $(wildcard $(EXPERIMENTS:%=%/*.gp))),$(wildcard $(figure).gp $(figure).py))

## --- installing -----------------------------------------------------------------------------

install: all ##: program, libraries, headers, man page, completions, profiles under PREFIX
	install -Dm755 $(BUILD)/vbslab $(DESTDIR)$(PREFIX)/bin/vbslab
	install -Dm644 $(BUILD)/libvbslab.a $(DESTDIR)$(PREFIX)/lib/libvbslab.a
	install -Dm755 $(BUILD)/libvbslab.so $(DESTDIR)$(PREFIX)/lib/libvbslab.so.$(VERSION)
	ln -sf libvbslab.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libvbslab.so.$(ABI)
	ln -sf libvbslab.so.$(ABI) $(DESTDIR)$(PREFIX)/lib/libvbslab.so
	install -d $(DESTDIR)$(PREFIX)/include/vbslab
	install -m644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/vbslab
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's|^prefix=.*|prefix=$(PREFIX)|' $(BUILD)/vbslab.pc > $(DESTDIR)$(PREFIX)/lib/pkgconfig/vbslab.pc
	install -Dm644 tools/vbslab.1 $(DESTDIR)$(PREFIX)/share/man/man1/vbslab.1
	install -Dm644 tools/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/vbslab
	install -Dm644 tools/completion.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vbslab
	install -Dm644 tools/completion.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vbslab.fish
	install -d $(DESTDIR)$(PREFIX)/share/vbslab/profiles
	install -m644 $(wildcard db/profiles/*.csv) $(DESTDIR)$(PREFIX)/share/vbslab/profiles
	set -e; for file in $(EXPERIMENT_FILES); do \
	    install -Dm644 $$file $(DESTDIR)$(PREFIX)/share/vbslab/$$file; done

uninstall: ##: removes the files that install put under PREFIX
	rm -f $(DESTDIR)$(PREFIX)/bin/vbslab $(DESTDIR)$(PREFIX)/lib/libvbslab.* \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig/vbslab.pc $(DESTDIR)$(PREFIX)/share/man/man1/vbslab.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/vbslab
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vbslab \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vbslab.fish
	rm -rf $(DESTDIR)$(PREFIX)/include/vbslab $(DESTDIR)$(PREFIX)/share/vbslab

clean: ##: removes all files that were made, except the store
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-ubsan $(BUILD)-sanitize $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-arm64 \
	    python/build python/vbslab.egg-info

# Only for sources that exist: files that depend on a removed source are made anew.
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) \
         $(TESTS_OBJ:.o=.d) $(FAKE_CUDA:%.c=$(BUILD)/%.d) \
         $(TEST_BIN:=.link.d) $(BENCHES:=.link.d) $(GPU_TESTS:=.link.d)
