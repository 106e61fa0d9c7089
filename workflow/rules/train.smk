rule train:
    """Run one batch: cheap runs together, or some repeats of a costly one.

    Run files are not declared: Snakemake would delete those of all runs when one of them fails. Nor is the plan, with
    which all jobs would run again; the job reads it where it is the present one, and resolves it by itself elsewhere.
    """
    input:
        data=data_of_batch,
        after=batches_before,
    output:
        done="results/{suite}/batches/{batch}.json",
    log:
        "results/{suite}/logs/train/{batch}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory_of_batch,
        train_mib=train_mib_of_batch,
        runtime=minutes_of_batch,
    params:
        work=work_of_batch,
        spec=spec_of_batch,
        overrides=json.dumps(OVERRIDES),
        job=code_digest(["cascadeforest.experiments.jobs"]),
    shell:
        "python -m cascadeforest.experiments batch --suite {wildcards.suite} --batch {wildcards.batch:q}"
        " --spec {params.spec} --overrides {params.overrides:q}"
        " --threads {threads} > {log:q} 2>&1"


rule time:
    """Fit the models of a table in turn, with one thread. The job takes all cores, so that nothing runs beside it.

    As in `train`, the file with the costs is not declared.
    """
    input:
        data=data_of_timings,
    output:
        done="results/{suite}/timings/{experiment}.done",
    log:
        "results/{suite}/logs/time/{experiment}.log",
    # Before what is drawn and tracked at the end, which can then use all cores.
    priority: 2
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=memory_of_timings,
        runtime=minutes_of_timings,
    params:
        work=work_of_timings,
        spec=spec_of_timings,
        overrides=json.dumps(OVERRIDES),
        job=code_digest(["cascadeforest.experiments.timing"]),
    shell:
        "python -m cascadeforest.experiments time --suite {wildcards.suite} --experiment {wildcards.experiment}"
        " --spec {params.spec} --overrides {params.overrides:q} > {log:q} 2>&1"
