import { getRapport } from './rapport.ts'

const name = 'Heartwood'

let listId: Promise<string> | undefined
let deletedListId = ''

/** Returns the id of the newsletter's list: RAPPORT_LIST_ID, or the list of this name, which is created if needed. */
export function findListId(): Promise<string> {
  listId ??= findOrCreateList()
  // After an error, the next request tries again.
  listId.catch(() => (listId = undefined))
  return listId
}

/** Call it if the API does not find the list, because it was deleted: the next request finds or creates another one. */
export async function forgetListId(): Promise<void> {
  deletedListId = (await listId) ?? deletedListId
  listId = undefined
}

async function findOrCreateList(): Promise<string> {
  const configured = process.env['RAPPORT_LIST_ID']
  if (configured) return configured
  const { lists } = getRapport()
  for await (const list of lists.list({ search: name })) if (list.name === name) return list.id
  // With the same key, concurrent requests of several servers create one list. The key of a list that was deleted would
  // return that list again.
  const list = await lists.create({ name }, { idempotencyKey: `list-${name}-${deletedListId}` })
  return list.id
}
