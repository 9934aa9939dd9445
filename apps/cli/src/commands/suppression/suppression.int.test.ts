import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from '../../command-line.ts'
import { commands } from '../../commands.ts'
import { startInProcess } from '../../testing.ts'

const api = useForFile(startHttpReceiver)
const email = 'ada@example.com'
const optOut = {
  id: 'sup_01kag7m3v9e8fs2t4w6x8y0z1a',
  reason: 'OPTED_OUT',
  listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
  contactId: null,
}
const bounce = { ...optOut, id: 'sup_01kag7m3v9e8fs2t4w6x8y0z1b', reason: 'BOUNCED', listId: null }

/** Runs the command against an API with these suppressions of the address. Returns its output and the requests. */
async function run(suppressions: object[], ...words: string[]) {
  // As the API, without `listId` it returns those for all lists.
  api.respondWith(({ method, url }) => {
    if (method === 'DELETE') return { status: 204 }
    const list = new URL(url, api.url).searchParams.get('listId')
    const data = suppressions.filter((one) => list === 'any' || ('listId' in one && one.listId === list))
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ data, nextCursor: null }) }
  })
  const parsed = await parseCommandLine(commands, ['suppression', ...words, '--api', api.url, '--key', 'rpk_x'])
  if ('print' in parsed) throw new Error(parsed.print)
  const before = api.requests.length
  const { printed, code } = startInProcess(parsed.command, parsed.options)
  await code
  return {
    output: printed.join('\n'),
    requests: api.requests.slice(before).map(({ method, url }) => `${method} ${url}`),
  }
}

test('suppression list finds every suppression of an address, also of a list', async () => {
  const idsOf = async (...words: string[]) => {
    const { output } = await run([optOut, bounce], 'list', ...words, '--json')
    return (JSON.parse(output) as { data: { id: string }[] }).data.map(({ id }) => id)
  }
  expect(await idsOf('--email', email)).toEqual([optOut.id, bounce.id])
  expect(await idsOf('--email', email, '--list', optOut.listId)).toEqual([optOut.id])
  expect(await idsOf()).toEqual([bounce.id])
})

test('suppression lift lifts the bounce of an address that has left a list too', async () => {
  const { requests } = await run([optOut, bounce], 'lift', email, '--note', 'Repaired')
  expect(requests.at(-1)).toContain(`DELETE /suppressions/${bounce.id}`)
})

test('suppression lift names an opt-out of a list to the API, which refuses it', async () => {
  const { requests } = await run([optOut], 'lift', email, '--note', 'Asked')
  expect(requests.at(-1)).toContain(`DELETE /suppressions/${optOut.id}`)
  await expect(run([], 'lift', email, '--note', 'Asked')).rejects.toThrow('is not suppressed')
})
