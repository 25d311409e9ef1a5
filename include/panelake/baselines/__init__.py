"""The rivals of the five papers, each behind the interface of what it rivals, in a file that opens with its paper.

| rivals of | files |
|---|---|
| shared panes | normal, bint, lint, and the paper's own spqp; ours behind the same interface: minimal_panes |
| ring queue | lwo, swf, xjoin, and the paper's own ring_queue |
| shedding, join period | mjoin, amjoin (its BiHT: kernels/joins/biht) |
| filter ordering | static, a_greedy, eddy, random_swap; all policies by name: filter_policies |

Shedding by frequency, by result and at random a user may choose (`SHED BY frequency`): these rivals stand among the
policies of the join itself, kernels/joins/key_priorities and kernels/joins/plain_victims.
"""
