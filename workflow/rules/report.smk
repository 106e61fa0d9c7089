localrules:
    plan,
    report,
    check,


rule plan:
    """Write the plan of the suite; tables, the page and MLflow are made from the plan and the results."""
    output:
        "results/{suite}/plan.json",
    log:
        "results/{suite}/logs/plan.log",
    conda:
        "../../environment.yml"
    params:
        plan=digest_of(to_json(PLAN)),
        overrides=json.dumps(OVERRIDES),
    shell:
        "python -m cascadeforest.experiments plan --suite {wildcards.suite} --overrides {params.overrides:q}"
        " --output {output:q} > {log:q} 2>&1"


rule claim_checks:
    """Check by running what claims say of all data: additivity, growth of cost, memory."""
    output:
        f"results/{CHECKS_FILE}",
    log:
        "results/claim_checks.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1_000,
        runtime="10m",
    params:
        code=code_digest(["cascadeforest.experiments.claim_checks"]),
    shell:
        "python -m cascadeforest.experiments claims --output {output:q} > {log:q} 2>&1"


rule table:
    """Draw one table from results, statistics of the data and the paper's numbers, without training."""
    input:
        plan="results/{suite}/plan.json",
        claims=claims_of,
        runs=runs_of,
        timings=timings_shown,
        summaries=summaries_of,
        published=published_of,
    output:
        csv=report(
            "results/{suite}/tables/{experiment}.csv",
            category="Tables",
            labels={"experiment": "{experiment}", "form": "CSV"},
            caption="../report/table.rst",
        ),
        markdown="results/{suite}/tables/{experiment}.md",
        latex="results/{suite}/tables/{experiment}.tex",
        # Only this rule makes the mark: it has all runs. What is drawn after a failure has no mark.
        complete=touch("results/{suite}/logs/draw/{experiment}.complete"),
    log:
        "results/{suite}/logs/draw/{experiment}.log",
    wildcard_constraints:
        experiment=one_of(name for name in READY if name not in FIGURES),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1_000,
        runtime="10m",
    params:
        code=reports_code(),
    shell:
        "python -m cascadeforest.reports draw --suite {wildcards.suite} --experiment {wildcards.experiment}"
        " > {log:q} 2>&1"


# Draws a figure and its table, from the arrays too that cells saved.
use rule table as figure with:
    output:
        csv=report(
            "results/{suite}/tables/{experiment}.csv",
            category="Tables",
            labels={"experiment": "{experiment}", "form": "CSV"},
            caption="../report/table.rst",
        ),
        markdown="results/{suite}/tables/{experiment}.md",
        latex="results/{suite}/tables/{experiment}.tex",
        svg=report(
            "results/{suite}/figures/{experiment}.svg",
            category="Figures",
            labels={"experiment": "{experiment}", "form": "SVG"},
            caption="../report/figure.rst",
        ),
        png="results/{suite}/figures/{experiment}.png",
        numbers="results/{suite}/figures/{experiment}.csv",
        complete=touch("results/{suite}/logs/draw/{experiment}.complete"),
    wildcard_constraints:
        experiment=one_of(name for name in READY if name in FIGURES),


rule index:
    """Collect all tables and figures in one page that works from disk."""
    input:
        plan=f"{LISTED_SUITE}/plan.json",
        drawings=drawings_of(READY),
        runs=all_runs(),
        timings=marks_of_timings(READY),
        summaries=all_summaries(),
        published=published_numbers(),
    output:
        report(
            "results/{suite}/index.html",
            category="Report",
            labels={"experiment": "all", "form": "page"},
            caption="../report/index.rst",
        ),
    log:
        "results/{suite}/logs/index.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1_000,
        runtime="10m",
    params:
        code=reports_code(),
    shell:
        "python -m cascadeforest.reports index --suite {wildcards.suite} > {log:q} 2>&1"


rule report:
    """Target: every table, every figure, the index page."""
    input:
        index_page(),


rule check:
    """Target: compare the tables with the stored tables; fails on drift."""
    input:
        drawings_of(READY),
    log:
        f"{LISTED_SUITE}/logs/check.log",
    conda:
        "../../environment.yml"
    params:
        suite=PLAN.suite,
    shell:
        "python -m cascadeforest.reports check --suite {params.suite} 2>&1 | tee {log:q}"


for name, experiment in PLAN.experiments.items():
    if name in READY:

        rule:
            name:
                name
            input:
                drawings_of([name]),
            localrule: True

    else:

        rule:
            name:
                name
            log:
                f"{LISTED_SUITE}/logs/missing/{name}.log",
            localrule: True
            conda:
                "../../environment.yml"
            params:
                experiment=name,
                suite=PLAN.suite,
            shell:
                "python -m cascadeforest.experiments missing {params.experiment} --suite {params.suite} 2> {log:q}"
