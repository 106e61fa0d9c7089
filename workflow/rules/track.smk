localrules:
    track,


# Runs after a failed workflow: what did finish is shown, and what failed says why.
PARTIAL_REPORT = (
    f"python -m cascadeforest.experiments plan --suite {PLAN.suite} --overrides {shlex.quote(json.dumps(OVERRIDES))}"
    f" --output {LISTED_SUITE}/plan.json"
    f" && python -m cascadeforest.reports partial --suite {PLAN.suite}"
    f" && python -m cascadeforest.experiments track --suite {PLAN.suite}"
)


rule track:
    """Bring the MLflow store up to date: one writer, after everything else."""
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
