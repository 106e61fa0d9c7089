include: "workflow/Snakefile"


# An include sets no default target: without this rule a bare `snakemake` would find nothing to be done.
rule default:
    default_target: True
    input:
        rules.all.input,
    localrule: True
