# vbslab: `make help` lists the targets.
BUILD  ?= build
ROOMS  ?= base model profile backend store plan replay report cli
CC     ?= gcc
OPT    ?= -O2 -g
WARN    = -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
          -Wcast-qual -Wwrite-strings -Wformat=2 -Werror
PKGS    = gsl jansson sqlite3
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -fPIC -pthread $(OPT) $(WARN) -Iinclude -Isrc -I$(BUILD) \
             $(shell pkg-config --cflags $(PKGS)) $(CFLAGS)
LIBS    = $(shell pkg-config --libs $(PKGS)) -ldnnl -lm -pthread

LIB_SRC = $(filter-out src/cli/%,$(foreach r,$(ROOMS),$(wildcard src/$(r)/*.c)))
CLI_SRC = $(filter src/cli/%,$(foreach r,$(ROOMS),$(wildcard src/$(r)/*.c)))
LIB_OBJ = $(LIB_SRC:%.c=$(BUILD)/%.o) $(GENERATED:%.c=%.o)
CLI_OBJ = $(CLI_SRC:%.c=$(BUILD)/%.o)
TESTS  ?= $(wildcard tests/t_*.c)

all: $(BUILD)/vbslab

$(BUILD)/libvbslab.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/vbslab: $(CLI_OBJ) $(BUILD)/libvbslab.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: tests/%.c $(BUILD)/libvbslab.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(BUILD)/libvbslab.a $(LIBS)

tests: $(TESTS:tests/%.c=$(BUILD)/tests/%)

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all tests clean
