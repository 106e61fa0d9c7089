localrules:
    track_cells,
    track,


rule track_cells:
    """Bring the cells in the MLflow store up to date, while tables are drawn: it takes one core a minute."""
    input:
        plan=f"{LISTED_SUITE}/plan.json",
        runs=all_runs(),
    output:
        "results/{suite}/logs/tracked_cells.json",
    log:
        "results/{suite}/logs/track_cells.log",
    # It is on the longest path.
    priority: 1
    conda:
        "../../environment.yml"
    params:
        code=code_digest(["cascadeforest.experiments.tracking"]),
    shell:
        "python -m cascadeforest.experiments track --cells --suite {wildcards.suite} --output {output:q} > {log:q} 2>&1"


rule track:
    """Bring all of the MLflow store up to date: a single writer, after all other jobs."""
    input:
        plan=f"{LISTED_SUITE}/plan.json",
        runs=all_runs(),
        cells=f"{LISTED_SUITE}/logs/tracked_cells.json",
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
