# find_package(Heddle) in a project whose compiler is heddle-cc (-DCMAKE_C_COMPILER=heddle-cc).
#
#   heddle_enforce(TARGET [OPTIONS...])   builds TARGET.enforced and its archive beside TARGET; OPTIONS are those of `heddle build`
#   heddle_check(TARGET)                  adds a test that fails when an enforced target can deadlock
get_filename_component(_heddle_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(Heddle_COMMAND heddle HINTS "${_heddle_prefix}/bin" REQUIRED)
set(Heddle_INCLUDE_DIR "${_heddle_prefix}/include")

function(heddle_enforce target)
    set(program "$<TARGET_FILE:${target}>")
    add_custom_command(
        TARGET ${target} POST_BUILD
        # Status 1 says that the archive is incomplete: the build goes on, a run that leaves the archive is stopped.
        COMMAND sh -c "\"$@\" || test $? = 1" sh "${Heddle_COMMAND}" build "${program}" -o "${program}.enforced" ${ARGN}
        COMMENT "Enforcing ${target}"
        VERBATIM)
endfunction()

function(heddle_check target)
    add_test(NAME heddle_check_${target}
             COMMAND "${Heddle_COMMAND}" check "$<TARGET_FILE:${target}>.enforced.heddle")
endfunction()
