/** What the API shows while nothing else happens to a person. */
import type { Person } from './people.ts'
import type { World } from './world.ts'

interface Shown {
  status: string
}

/** Reads the status of each address on each list. CONFIRMED is as good as a mail. */
export async function readStatuses({ apis: [api], key, lists }: World, person: Person): Promise<void> {
  for (const address of person.addresses) {
    const found = await api?.call<{ data: { id: string }[] }>('GET', `/contacts?email=${address}`, { key })
    const id = found?.body.data[0]?.id
    if (id === undefined) continue
    for (const list of lists) {
      const notBefore = Date.now()
      const path = `/lists/${list.id}/subscribers/${id}`
      const { status = '' } = (await api?.call<Shown>('GET', path, { key }))?.body ?? {}
      const what = `GET ${path}: ${status}`
      if (status !== '') person.log.statuses.push({ address, list: list.id, status })
      if (status === 'CONFIRMED')
        person.log.observations.push({ what, address, list: list.id, notBefore, at: Date.now() })
    }
  }
}
