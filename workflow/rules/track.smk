localrules:
    track,


rule track:
    """Bring the MLflow store up to date: a single writer, after all other jobs."""
    input:
        plan=f"{LISTED_SUITE}/plan.json",
        runs=all_runs(),
        drawings=drawings_of(READY),
        page=index_page(),
    output:
        "results/{suite}/logs/tracked.json",
    log:
        "results/{suite}/logs/track.log",
    conda:
        "../../environment.yml"
    params:
        code=code_digest(["cascadeforest.experiments.tracking"]),
    shell:
        "python -m cascadeforest.experiments track --suite {wildcards.suite} --output {output:q} > {log:q} 2>&1"
