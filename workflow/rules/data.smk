rule fetch:
    """Download the files of one data set, or copy them from the mirror, and verify their checksums.

    The files themselves are not declared: Snakemake would delete verified downloads when a later one fails.
    """
    output:
        "data/raw/{dataset}/fetched.json",
    log:
        "results/logs/fetch/{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1_000,
        runtime="2h",
    params:
        source=source_digest,
        code=code_digest(["cascadeforest.data.sources"]),
    shell:
        "python -m cascadeforest.data fetch --dataset {wildcards.dataset} --raw data/raw > {log} 2>&1"


rule prepare:
    """Parse one data set, check it against the facts in its data set file, and store it with its split."""
    input:
        fetched_files,
    output:
        data="data/processed/{dataset}.npz",
        summary="data/processed/{dataset}.json",
    log:
        "results/logs/prepare/{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory_mib,
        runtime="1h",
    params:
        row=dataset_digest,
        seed=config.get("seed", 0),
        own_file=own_file_digest,
        versions=versions(),
        code=code_digest(["cascadeforest.data.prepare"]),
    shell:
        "python -m cascadeforest.data prepare --dataset {wildcards.dataset} --raw data/raw --seed {params.seed}"
        " --output {output.data:q} > {log} 2>&1"


rule vary:
    """Make a variant of a data set: one operation, as in adult+rows-5000."""
    input:
        data="data/processed/{variant}.npz",
        summary="data/processed/{variant}.json",
    output:
        data="data/processed/{variant}+{operation}.npz",
        summary="data/processed/{variant}+{operation}.json",
    log:
        "results/logs/vary/{variant}+{operation}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory_mib,
        runtime="1h",
    params:
        seed=config.get("seed", 0),
        code=code_digest(["cascadeforest.data.variants"]),
    shell:
        "python -m cascadeforest.data vary --input {input.data:q} --operation {wildcards.operation:q}"
        " --raw data/raw --seed {params.seed} --output {output.data:q} > {log:q} 2>&1"
