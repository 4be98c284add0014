# menace-run is linked statically: it starts for every run, and loading shared
# objects would cost as much as making the sandbox.
add_library(menace_run_parts OBJECT tools/single.c tools/result_file.c tools/batch.c tools/dry_run.c tools/subruns.c
  tools/report.c tools/to_store.c tools/where.c tools/cli.c tools/optable.c tools/options.c
  tools/no_names.c)
set(no_names -Wl,--wrap=getaddrinfo,--wrap=gethostbyname,--wrap=getprotobyname
  -Wl,--wrap=getprotobynumber,--wrap=dlopen)
add_executable(menace-run tools/menace-run.c)
# The same with MENACE_TEST_BUILD, for tests that are in every build; not installed.  What has a hook is
# compiled once more, and linked in place of its twin in a library.
add_executable(menace-run-test tools/menace-run.c runtime/base/die_at.c
  runtime/launch/child.c runtime/launch/init.c runtime/launch/launch.c runtime/supervise/end.c
  runtime/supervise/host.c runtime/supervise/lease.c runtime/supervise/run.c runtime/supervise/set_up.c)
target_compile_definitions(menace-run-test PRIVATE MENACE_TEST_BUILD=1)
foreach(program menace-run menace-run-test)
  target_link_options(${program} PRIVATE ${no_names})
  target_link_libraries(${program} PRIVATE menace_run_parts mr_spool mr_backend mr_supervise mr_bpf mr_launch
    mr_spec mr_cgroups mr_netns mr_base)
  if(MENACE_STATIC)
    target_link_options(${program} PRIVATE -static)
  endif()
endforeach()

# Answers for the network of a sandbox; static, for it starts with a run.
add_executable(menace-netd tools/menace-netd.c tools/netd_confine.c tools/no_names.c)
target_link_options(menace-netd PRIVATE ${no_names})
target_link_libraries(menace-netd PRIVATE mr_launch mr_stub mr_netns mr_base)
if(MENACE_STATIC)
  target_link_options(menace-netd PRIVATE -static)
endif()
add_dependencies(menace-run menace-netd)
add_dependencies(menace-run-test menace-run) # starts the same programs

# Does runs in containers of a Docker Engine; alone with libcurl, as menace-send is.
add_executable(menace-docker tools/menace-docker.c tools/docker_tasks.c)
target_link_libraries(menace-docker PRIVATE mr_docker mr_backend mr_supervise mr_bpf mr_launch mr_spec
  mr_cgroups mr_netns mr_base)
# The first process of its containers; static, for it has to run without the host's libraries.
add_executable(menace-init tools/menace-init.c tools/no_names.c)
target_link_options(menace-init PRIVATE ${no_names})
target_link_libraries(menace-init PRIVATE mr_backend mr_launch mr_spec mr_cgroups mr_netns mr_base)
if(MENACE_STATIC)
  target_link_options(menace-init PRIVATE -static)
endif()
add_dependencies(menace-run menace-docker menace-init)

# Does runs in virtual machines, with a program of ours as the first one inside, which is static
# for the initramfs has nothing else.  A sanitizer's cannot be: no machine starts with it.
add_executable(menace-guest tools/menace-guest.c tools/guest_boot.c tools/guest_relay.c
  tools/guest_prepare.c tools/guest_run.c tools/no_names.c)
target_link_options(menace-guest PRIVATE ${no_names})
if(MENACE_STATIC)
  target_link_options(menace-guest PRIVATE -static)
endif()
target_link_libraries(menace-guest PRIVATE mr_qemu mr_backend mr_supervise mr_bpf mr_launch mr_spec
  mr_cgroups mr_netns mr_base)
add_executable(menace-qemu tools/menace-qemu.c)
target_link_libraries(menace-qemu PRIVATE mr_qemu mr_backend mr_supervise mr_bpf mr_launch mr_spec
  mr_cgroups mr_netns mr_base)
add_dependencies(menace-qemu menace-guest menace-probe-load)
add_dependencies(menace-run menace-qemu)

# menace reads what menace-run keeps.
file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/cmd_*.c)
add_library(menace_commands OBJECT tools/cmd.c tools/doctor_host.c tools/doctor_kernel.c tools/doctor_net.c
  tools/engine.c tools/events.c tools/flow_session.c tools/flow_temp.c tools/handover.c tools/interrupts.c tools/matrix_cell.c tools/matrix_details.c tools/matrix_html.c
  tools/matrix_group.c tools/matrix_report.c tools/matrix_run.c tools/learned.c tools/live.c tools/progress.c
  tools/screen.c tools/stale.c tools/stubs.c tools/term.c tools/optable.c tools/symbols.c ${commands})
target_link_libraries(menace_commands PUBLIC mr_section mr_flow mr_qemu mr_backend mr_scenario mr_input mr_export mr_store mr_supervise mr_bpf mr_launch mr_spec
  mr_cgroups mr_netns mr_base)
add_executable(menace tools/menace.c)
target_link_libraries(menace PRIVATE menace_commands)

# Sends what menace exports; alone with libcurl.
add_executable(menace-send tools/menace-send.c tools/optable.c)
target_link_libraries(menace-send PRIVATE mr_send mr_base)
add_dependencies(menace menace-send menace-docker)

# Puts the programs for the kernel in place; static, for the initramfs of a machine has no libraries.
add_executable(menace-probe-load tools/menace-probe-load.c tools/no_names.c)
target_link_options(menace-probe-load PRIVATE ${no_names})
target_link_libraries(menace-probe-load PRIVATE mr_bpf_load)
if(MENACE_STATIC)
  target_link_options(menace-probe-load PRIVATE -static)
endif()
add_dependencies(menace-run menace-probe-load)

# Reads the debug information of programs that nobody trusts, in a sandbox.
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw libelf)
add_executable(menace-symbolize tools/menace-symbolize.c)
target_link_libraries(menace-symbolize PRIVATE PkgConfig::LIBDW)
add_dependencies(menace menace-symbolize)

# Manual pages: the tables become OPTIONS, FIELDS and the like.
add_executable(gen-docs tools/gen-docs.c tools/gen-docs-backends.c tools/gen-docs-presets.c tools/gen-docs-schema.c
  tools/cli.c tools/options.c)
target_link_libraries(gen-docs PRIVATE menace_commands mr_backend mr_spec mr_base)
find_program(SCDOC scdoc REQUIRED)
foreach(page menace.1 menace-run.1 menace-flow.5 menace-policy.5 menace-spec.5 menace-store.5)
  set(out ${CMAKE_BINARY_DIR}/man/${page})
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND gen-docs man ${CMAKE_SOURCE_DIR}/docs/man/${page}.scd > ${out}.scd
    COMMAND ${SCDOC} < ${out}.scd > ${out}.raw
    COMMAND gen-docs roff < ${out}.raw > ${out}
    DEPENDS gen-docs ${CMAKE_SOURCE_DIR}/docs/man/${page}.scd)
  list(APPEND pages ${out})
endforeach()
add_custom_target(man ALL DEPENDS ${pages})
