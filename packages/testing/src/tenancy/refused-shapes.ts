/**
 * The shapes of statements that Citus refuses, or executes differently, although one server executes them. Each was tried
 * with Citus 12.1; `refused-shapes.int.test.ts` tries the examples again on a cluster.
 */
import type { InsertStmt, Node, RangeVar, UpdateStmt } from 'libpg-query'
import { findCorrelation } from './find-correlation.ts'
import { hasColumn, isNotImmutable, isStableExpression, isVolatile } from './function-volatility.ts'
import { find, sourcesOf } from './parse-tree.ts'

/** What the check of a statement knows of it. */
export interface StatementFacts {
  statement: Node
  /** The tables whose rows are distributed by workspace. */
  distributed: ReadonlySet<string>
  /** Whether a level reads distributed rows of several workspaces. Otherwise one server executes each level as a whole. */
  crosses: boolean
  /** Whether such a level locks rows. */
  locks: boolean
  /** Whether such a level joins tables by other columns alone. */
  isUntied: boolean
  /** Whether the caller uses the number of rows that PostgreSQL reports. */
  isCounted: boolean
}

export interface RefusedShape {
  reason: string
  example: string
  /** The same for one workspace, or with the same effect, as Citus executes it. */
  instead: string
  /** What Citus says to the example. Undefined if it says nothing, and its result is wrong. */
  refusal: RegExp | undefined
  isFound: (facts: StatementFacts) => boolean
}

export const refusedShapes: Readonly<Record<string, RefusedShape>> = {
  'a join of several workspaces without workspace_id': {
    reason: 'The rows may be on different servers.',
    example: 'select c.id from contacts c join subscriptions s on s.contact_id = c.id',
    instead:
      'select c.id from contacts c join subscriptions s on s.workspace_id = c.workspace_id and s.contact_id = c.id',
    refusal: /requires repartitioning|complex joins are only supported/,
    isFound: ({ crosses, isUntied }) => crosses && isUntied,
  },
  'a row lock of several workspaces': {
    reason: 'Only one server can lock rows for a statement. Name the workspace.',
    example: 'select from domains where id = $1 for update nowait',
    instead: 'select from domains where workspace_id = $1 and id = $1 for update nowait',
    refusal: /could not run distributed query with FOR UPDATE\/SHARE/,
    isFound: ({ locks }) => locks,
  },
  'a row lock by a condition that has a sub-select in an OR': {
    reason: 'Citus cannot tell that one server has all rows. Lock by the columns of the table alone.',
    example:
      'select id from visitor_mails v where workspace_id = $1 and (list_id is null or exists (select from subscriptions s ' +
      'where s.workspace_id = v.workspace_id and s.list_id = v.list_id)) for update',
    instead: 'select id from visitor_mails v where workspace_id = $1 and list_id is null for update',
    refusal: /could not run distributed query with FOR UPDATE\/SHARE/,
    isFound: ({ statement }) =>
      find(statement, 'SelectStmt').some(
        ({ lockingClause, whereClause }) =>
          lockingClause !== undefined &&
          find(whereClause, 'BoolExpr').some(
            ({ boolop, args }) => boolop === 'OR_EXPR' && find(args, 'SubLink').length > 0,
          ),
      ),
  },
  'CASE of a value in a change': {
    reason: 'Citus sends it to its servers as CASE x WHEN (x = y). Write CASE WHEN x = y.',
    example:
      "insert into suppressions (workspace_id, list_id, email_hash, reason) select workspace_id, list_id, 'x', " +
      "case status when 'COMPLAINED' then status else 'UNSUBSCRIBED' end from subscriptions where workspace_id = $1",
    instead:
      "insert into suppressions (workspace_id, list_id, email_hash, reason) select workspace_id, list_id, 'x', " +
      "case when status = 'COMPLAINED' then status else 'UNSUBSCRIBED' end from subscriptions where workspace_id = $1",
    refusal: /operator does not exist: text = boolean/,
    isFound: (facts) => changesOf(facts).some((change) => find(change, 'CaseExpr').some(({ arg }) => arg)),
  },
  'a function of a column that is not immutable in UPDATE or DELETE': {
    reason: 'Citus evaluates such functions before it sends the statement. Compute the value in TypeScript.',
    example:
      "update subscriptions set status = 'UNSUBSCRIBED' " +
      "where workspace_id = $1 and (consent #>> '{0,at}')::timestamptz = unsubscribed_at",
    instead: "update subscriptions set status = 'UNSUBSCRIBED' where workspace_id = $1 and unsubscribed_at = now()",
    refusal: /STABLE functions used in UPDATE queries cannot be called with column references/,
    isFound: (facts) => updatedParts(facts).some((part) => isStableExpression(part, hasColumn)),
  },
  'a volatile function in UPDATE or DELETE': {
    reason: 'Copies of a row would differ. Pass the value as a parameter.',
    example: 'update work set token = gen_random_uuid() where workspace_id = $1',
    instead: 'update work set token = $1 where workspace_id = $1',
    refusal: /must not be VOLATILE/,
    isFound: (facts) => updatedParts(facts).some(isVolatile),
  },
  'a function that is not immutable in CASE or COALESCE of UPDATE or DELETE': {
    reason: 'Citus evaluates it before it sends the statement, but whether it is needed depends on the row.',
    example: 'update subscriptions set unsubscribed_at = coalesce(unsubscribed_at, now()) where workspace_id = $1',
    instead: 'update subscriptions set unsubscribed_at = now() where workspace_id = $1 and unsubscribed_at is null',
    refusal: /non-IMMUTABLE functions are not allowed in CASE or COALESCE statements/,
    isFound: (facts) =>
      updatedParts(facts)
        .flatMap((part) => [...find(part, 'CaseExpr'), ...find(part, 'CoalesceExpr')])
        .some(isNotImmutable),
  },
  'a function that is not immutable in RETURNING': {
    reason: 'Copies of a row would return different values.',
    example: 'update work set kind = kind where workspace_id = $1 returning to_jsonb(kind)',
    instead: 'update work set kind = kind where workspace_id = $1 returning kind',
    refusal: /non-IMMUTABLE functions are not allowed in the RETURNING clause/,
    isFound: (facts) => changesOf(facts).some((change) => isNotImmutable(change.returningClause)),
  },
  'a function that is not immutable in ON CONFLICT': {
    reason: 'Copies of a row would differ. Insert the value, and use it as excluded.x.',
    example:
      "insert into work (workspace_id, id, kind) values ($1, $1, 'MAIL') " +
      'on conflict (workspace_id, id) do update set claimed_at = now()',
    instead:
      "insert into work (workspace_id, id, kind, claimed_at) values ($1, $1, 'MAIL', now()) " +
      'on conflict (workspace_id, id) do update set claimed_at = excluded.claimed_at',
    refusal: /must be marked IMMUTABLE/,
    isFound: (facts) => insertsOf(facts).some(({ onConflictClause }) => isNotImmutable(onConflictClause)),
  },
  'a changed workspace_id': {
    reason: 'The row would move to another server.',
    example: 'update work set workspace_id = $1 where workspace_id = $1',
    instead: 'update work set id = $1 where workspace_id = $1',
    refusal: /modifying the partition value of rows is not allowed/,
    isFound: (facts) => changesOf(facts).some((change) => find(assignmentsOf(change), 'ResTarget').some(isOfWorkspace)),
  },
  'a lock of rows that are joined with a function or a sub-select, beside an INSERT': {
    reason:
      'The rows of a locking CTE then have a hidden record, so that Citus writes its result in one format and reads it in ' +
      'another. Lock the table alone, and join afterwards.',
    example: `with locked as (
        select c.id, name from unnest(array[$1::uuid], array['x']) as given (id, name) join contacts c on c.id = given.id
        where c.workspace_id = $1 for no key update of c),
      changed as (
        update contacts c set first_name = name from locked where c.workspace_id = $1 and c.id = locked.id returning c.id),
      added as (insert into work (workspace_id, id, kind) select $1, id, 'MAIL' from changed returning id)
      select id from added`,
    instead: `with locked as (
        select id from contacts c where workspace_id = $1 and id = any(array[$1::uuid]) for no key update),
      changed as (
        update contacts c set first_name = name
        from locked join unnest(array[$1::uuid], array['x']) as given (id, name) on given.id = locked.id
        where c.workspace_id = $1 and c.id = locked.id returning c.id),
      added as (insert into work (workspace_id, id, kind) select $1, id, 'MAIL' from changed returning id)
      select id from added`,
    refusal: /PGCOPY/,
    isFound: (facts) => insertsOf(facts).length > 0 && locksJoined(facts.statement),
  },
  'a sub-select of several workspaces that refers to a level without distributed tables': {
    reason: 'No server has the rows of that level. Join a distributed table there, and refer to that one.',
    example: `with pending as materialized (select workspace_id from deliveries where status = 'PENDING' limit 500)
      select workspace_id, (
        select token is not null from work where work.workspace_id = pending.workspace_id and id = $1) from pending`,
    instead: `with pending as materialized (select workspace_id from deliveries where status = 'PENDING' limit 500)
      select w.workspace_id, (
        select token is not null from work where work.workspace_id = w.workspace_id and id = $1)
      from pending join webhooks w on w.workspace_id = pending.workspace_id`,
    refusal: /correlated subqueries are not supported|complex joins are only supported/,
    isFound: ({ statement, distributed, crosses }) => crosses && findCorrelation(statement, distributed),
  },
  'a recursive query of several workspaces': {
    reason: 'Each step would need all servers.',
    example: `with recursive found as (
        select workspace_id from deliveries union
        select d.workspace_id from found join deliveries d on d.workspace_id > found.workspace_id)
      select workspace_id from found`,
    instead: `with recursive found as (
        select id from deliveries where workspace_id = $1 union
        select d.id from found join deliveries d on d.workspace_id = $1 and d.id > found.id)
      select id from found`,
    refusal: /recursive CTEs are only supported when/,
    isFound: ({ statement, crosses }) =>
      crosses && find(statement, 'SelectStmt').some((one) => one.withClause?.recursive),
  },
  'the row count of INSERT … SELECT … ON CONFLICT': {
    reason: 'Citus reports the rows of the SELECT, also those that conflict. Use RETURNING, and count its rows.',
    example:
      "insert into work (workspace_id, id, kind) select id, id, 'DRAIN' from workspaces where id = $1 on conflict do nothing",
    instead:
      "insert into work (workspace_id, id, kind) select id, id, 'DRAIN' from workspaces where id = $1 " +
      'on conflict do nothing returning id',
    refusal: undefined,
    isFound: ({ statement, isCounted }) =>
      isCounted && 'InsertStmt' in statement && isUncountable(statement.InsertStmt),
  },
}

type Change = InsertStmt | UpdateStmt

/** The changes of distributed tables. A DELETE has the parts of an UPDATE that count here. */
function changesOf(facts: StatementFacts): Change[] {
  return [...insertsOf(facts), ...updatesOf(facts)]
}

const insertsOf = ({ statement, distributed }: StatementFacts): InsertStmt[] =>
  find(statement, 'InsertStmt').filter((insert) => isOf(distributed, insert.relation))

const updatesOf = ({ statement, distributed }: StatementFacts): UpdateStmt[] =>
  [...find(statement, 'UpdateStmt'), ...find(statement, 'DeleteStmt')].filter((update) =>
    isOf(distributed, update.relation),
  )

const isOf = (tables: ReadonlySet<string>, relation: RangeVar | undefined) => tables.has(relation?.relname ?? '')

/** The expressions of UPDATE and DELETE that Citus evaluates or sends. */
const updatedParts = (facts: StatementFacts): unknown[] =>
  updatesOf(facts).flatMap(({ targetList, whereClause }) => [targetList, whereClause])

const assignmentsOf = (change: Change): unknown =>
  'targetList' in change ? change.targetList : 'onConflictClause' in change ? change.onConflictClause?.targetList : []

const isOfWorkspace = ({ name }: { name?: string }) => name === 'workspace_id'

function locksJoined(statement: Node): boolean {
  const common = find(statement, 'CommonTableExpr')
  const names = new Set(common.map(({ ctename = '' }) => ctename))
  const isTable = (source: Node) => 'RangeVar' in source && !isOf(names, source.RangeVar)
  return common.some(({ ctequery }) => {
    if (!ctequery || !('SelectStmt' in ctequery) || !ctequery.SelectStmt.lockingClause) return false
    // PostgreSQL may turn a sub-select of the condition into a join.
    const levels = [ctequery.SelectStmt, ...find(ctequery.SelectStmt.whereClause, 'SelectStmt')]
    return !levels.every(({ fromClause }) => sourcesOf(fromClause).every(isTable))
  })
}

const isUncountable = ({ selectStmt, onConflictClause, returningClause }: InsertStmt) =>
  // DO UPDATE without a condition changes every row.
  onConflictClause !== undefined &&
  (onConflictClause.action === 'ONCONFLICT_NOTHING' || onConflictClause.whereClause !== undefined) &&
  returningClause === undefined &&
  selectStmt !== undefined &&
  'SelectStmt' in selectStmt &&
  selectStmt.SelectStmt.valuesLists === undefined
