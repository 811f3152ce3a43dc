/* Every function that frees or closes an object of the library accepts null, and then does
 * nothing. */
#include "support/tap.h"

#include "vbslab/vbslab.h"

int main(void)
{
    vbs_ctx_free(NULL);
    vbs_network_free(NULL);
    vbs_profile_free(NULL);
    vbs_profile_builder_free(NULL);
    vbs_store_close(NULL);
    vbs_store_list_free(NULL);
    vbs_store_samples_free(NULL);
    vbs_store_run_free(NULL);
    vbs_schedule_free(NULL);
    vbs_place_free(NULL);
    vbs_place_csv_free(NULL);
    vbs_mmcnn_table_free(NULL);
    vbs_solver_free(NULL);
    vbs_frontier_free(NULL);
    vbs_replay_free(NULL);
    vbs_exec_free(NULL);
    vbs_compare_free(NULL);
    ok(true, "every object of the public headers can be freed where there is none");
    return done_testing();
}
