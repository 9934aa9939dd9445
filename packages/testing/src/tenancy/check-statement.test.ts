import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadModule, parseSync } from 'libpg-query'
import { beforeAll, expect, test } from 'vitest'
import { checkStatement } from './check-statement.ts'
import { acrossWorkspaces } from './cross-workspace-statements.ts'
import { tables } from './tables.ts'

beforeAll(loadModule)

const check = (text: string) =>
  (parseSync(text).stmts ?? [])
    .flatMap(({ stmt }) => (stmt ? checkStatement(stmt, tables) : []))
    .filter(({ kind }) => kind === 'workspace')
    .map(({ message }) => message)

test.each([
  ['a parameter', 'select from contacts where email = $2 and workspace_id = $1'],
  ['a join', 'select from contacts c join lists l on l.workspace_id = c.workspace_id where l.workspace_id = $1::uuid'],
  [
    'a row',
    'select from contacts c, lists l where (c.workspace_id, c.id) = ($1, $2) and l.workspace_id = c.workspace_id',
  ],
  ['USING', 'select from contacts join subscriptions using (workspace_id) where contacts.workspace_id = $1'],
  [
    'a sub-select',
    'select from contacts c where workspace_id = $1 and exists (select from lists l where l.workspace_id = c.workspace_id)',
  ],
  [
    'a lateral',
    'select from lists l, lateral (select from contacts c where c.workspace_id = l.workspace_id) x where l.workspace_id = $1',
  ],
  [
    'a CTE',
    'with d as (delete from tasks where workspace_id = $1 returning workspace_id as w) select from contacts c, d where c.workspace_id = d.w',
  ],
  [
    'a semi-join',
    'delete from tasks where (workspace_id, id) in (select workspace_id, id from tasks where workspace_id = $1)',
  ],
  ['a reference table', 'select from users'],
  ['an INSERT', 'insert into tasks (workspace_id, id) values ($1, $2)'],
])('%s names the workspace', (_name, text) => {
  expect(check(text)).toEqual([])
})

test.each([
  ['select from contacts where id = $1', 'contacts'],
  ['select from contacts where workspace_id = any($1)', 'contacts'],
  ['select from contacts where workspace_id = $1 or id = $2', 'contacts'],
  ['select from contacts where workspace_id = $1 and exists (select from lists where id = $2)', 'lists'],
  ['select from contacts c join lists l on l.id = $2 where c.workspace_id = $1', 'lists l'],
  ['with d as (select * from tasks) select from d where d.workspace_id = $1', 'tasks'],
  ['select from contacts where workspace_id = $1 union select from tasks', 'tasks'],
  ['update contacts c set email = l.name from lists l where l.workspace_id = $1', 'contacts c'],
  ['delete from contacts', 'contacts'],
])('%s does not name it', (text, relation) => {
  expect(check(text)).toEqual([`does not name the workspace of ${relation}`])
})

test('an INSERT without workspace_id is found', () => {
  expect(check('insert into tasks (id) values ($1)')).toEqual(['inserts into tasks without workspace_id'])
})

test('every function of the list exists', () => {
  const missing = Object.keys(acrossWorkspaces).filter((sender) => {
    const [path = '', name = ''] = sender.split(' ')
    const file = join(import.meta.dirname, '../../../..', path)
    return !existsSync(file) || !readFileSync(file, 'utf8').includes(name.replace('Object.', ''))
  })
  expect(missing).toEqual([])
})
