# menace-run is linked statically: it starts for every run, and loading shared
# objects would cost as much as making the sandbox.
add_executable(menace-run tools/menace-run.c tools/single.c tools/batch.c tools/dry_run.c
  tools/report.c tools/cli.c tools/options.c)
target_link_libraries(menace-run PRIVATE mr_supervise mr_launch mr_spec mr_cgroups mr_netns mr_base)
if(MENACE_STATIC)
  target_link_options(menace-run PRIVATE -static)
endif()
