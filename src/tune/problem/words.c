/* The words of the values of tune.h. */
#include "vbslab/tune.h"

#define WORD(name, word) word,

const char *vbs_search_kind_word(enum vbs_search_kind kind)
{
    static const char *const WORDS[] = {VBS_SEARCH_KIND_LIST(WORD)};

    return (unsigned)kind < VBS_N_SEARCH_KINDS ? WORDS[kind] : NULL;
}

const char *vbs_sampler_word(enum vbs_sampler sampler)
{
    static const char *const WORDS[] = {VBS_SAMPLER_LIST(WORD)};

    return (unsigned)sampler < VBS_N_SAMPLERS ? WORDS[sampler] : NULL;
}

const char *vbs_trial_state_word(enum vbs_trial_state state)
{
    static const char *const WORDS[] = {VBS_TRIAL_STATE_LIST(WORD)};

    return (unsigned)state < VBS_N_TRIAL_STATES ? WORDS[state] : NULL;
}

const char *vbs_front_rule_word(enum vbs_front_rule rule)
{
    static const char *const WORDS[] = {VBS_FRONT_RULE_LIST(WORD)};

    return (unsigned)rule < VBS_N_FRONT_RULES ? WORDS[rule] : NULL;
}
