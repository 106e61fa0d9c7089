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
