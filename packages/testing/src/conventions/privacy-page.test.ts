/** The page about privacy says of every table with people how long it keeps them. */
import * as schema from '@rapport/core/db/schema/index.ts'
import { getTableName, is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { readRepositoryText } from './repository-texts.ts'

/** Settings and texts of a workspace, work and counters, which name people by ids at most. */
const withoutPeople = [
  'backups',
  'campaign_link_clicks',
  'campaigns',
  'custom_fields',
  'domains',
  'forms',
  'hosts',
  'installation',
  'lists',
  'mail_hook_tokens',
  'mail_hooks',
  'mail_rates',
  'pipelines',
  'segments',
  'sender_domains',
  'stages',
  'template_versions',
  'templates',
  'webhook_health',
  'webhooks',
  'work',
  'workers',
  'workspaces',
]

test('every table is on the page about privacy, or has no people', () => {
  const [, section = ''] = /## What is kept\n(.*?)\n## /s.exec(readRepositoryText('docs/guides/privacy.md')) ?? []
  const documented = section.split('\n').flatMap((line) => {
    const [, tables = ''] = /^\|[^|]*\|([^|]*)\|/.exec(line) ?? []
    return [...tables.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  })
  const tables = Object.values(schema).flatMap((table) => (is(table, Table) ? [getTableName(table)] : []))
  expect([...documented, ...withoutPeople].toSorted()).toEqual(tables.toSorted())
})
