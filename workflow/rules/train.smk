rule train:
    """Run all repeats of one model on one data set and merge their results."""
    input:
        data="data/processed/{variant}.npz",
        summary="data/processed/{variant}.json",
        parts=parts_of,
    output:
        result="results/{suite}/runs/{variant}/{model}.json",
    log:
        "results/{suite}/logs/train/{variant}/{model}.log",
    benchmark:
        "results/{suite}/logs/train/{variant}/{model}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory_mib,
        runtime="12h",
    params:
        spec=run_spec,
        code=model_code,
        job=code_digest(["cascadeforest.experiments.jobs"]),
        versions=library_versions,
    shell:
        "python -m cascadeforest.experiments run --spec {params.spec:q} --data {input.data:q} --cache results/cells"
        " --output {output.result:q} --failures results/{wildcards.suite}/failures/{wildcards.variant}/{wildcards.model}.json"
        " --threads {threads} > {log:q} 2>&1"


rule train_part:
    """Run some of the repeats (`seeds_per_job`); the merging job finds them in the cell cache."""
    input:
        data="data/processed/{variant}.npz",
        summary="data/processed/{variant}.json",
    output:
        result=temp("results/{suite}/runs/{variant}/{model}.part{part}.json"),
    log:
        "results/{suite}/logs/train/{variant}/{model}.part{part}.log",
    benchmark:
        "results/{suite}/logs/train/{variant}/{model}.part{part}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory_mib,
        runtime="12h",
    params:
        spec=part_spec,
        code=model_code,
        job=code_digest(["cascadeforest.experiments.jobs"]),
        versions=library_versions,
    shell:
        "python -m cascadeforest.experiments run --spec {params.spec:q} --data {input.data:q} --cache results/cells"
        " --output {output.result:q}"
        " --failures results/{wildcards.suite}/failures/{wildcards.variant}/{wildcards.model}.part{wildcards.part}.json"
        " --threads {threads} > {log:q} 2>&1"
