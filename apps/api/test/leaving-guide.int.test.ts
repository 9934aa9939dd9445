import { readRepositoryText } from '@rapport/testing/conventions/repository-texts.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { readListingTemplates } from './listings.ts'
import { startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())

/** What is in the exports of contacts or in another listing too. Below `/contacts`, everything is. */
const exportedElsewhere = [
  '/companies/{id}/activity',
  '/companies/{id}/contacts',
  '/deals/{id}/activity',
  '/lists/{id}/subscribers',
  '/segments/{id}/contacts',
  '/webhooks/{id}/deliveries',
]
/** What is of no use in another system. */
const staysBehind = ['/api-keys', '/event-types', '/imports', '/invites', '/mail-hooks', '/sessions', '/workspaces']

const guide = readRepositoryText('docs/guides/leaving.md')

test('the guide for leaving names the call of every listing', async () => {
  const named = [...guide.matchAll(/`GET (\/[^`?]+)/g)].map(([, path]) => path)
  const templates = (await readListingTemplates(api)).filter((template) => !template.startsWith('/contacts'))
  const missing = templates.filter((template) => !named.includes(template))
  expect(missing.toSorted()).toEqual([...exportedElsewhere, ...staysBehind].toSorted())
})

test('a loop over all contacts repeats what fails, such as over the rate limit', () => {
  const loops = guide.split('```').filter((block) => /\| while read/.test(block) && !/\| head -\d+ \|/.test(block))
  expect(loops).toHaveLength(1)
  for (const loop of loops) expect(loop).toMatch(/^ {2}until rapport .+; do sleep \d+; done$/m)
})
