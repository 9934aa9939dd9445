import type { Guard } from './remove-guard.ts'
import type { TestedGuard } from './tested-guard.ts'

const folder = 'packages/core/src/operations/preferences'
const change = `${folder}/change-preferences.ts`

const given: readonly Guard[] = [
  {
    name: 'a stop on the preferences page is not the word of the person',
    file: 'packages/core/src/operations/contacts/unsubscribe.ts',
    search: "reason: 'OPTED_OUT', source: 'LINK' } as const",
    replacement: "reason: 'OPTED_OUT', source: 'API' } as const",
  },
  {
    name: 'a preferences link to a former address shows the lists of the contact',
    file: `${folder}/lock-holder.ts`,
    search: 'contact !== undefined && isSameAddress(contact.email, link.email)',
    replacement: 'contact !== undefined',
  },
  {
    name: 'a preferences link to a former address asks the present one to subscribe',
    file: change,
    search: 'if (!contact || !isCurrent) throw',
    replacement: 'if (!contact) throw',
  },
  {
    name: 'a preferences link subscribes to a list that the person was never on',
    file: change,
    search: '(await lockList(ctx, listId)) && (await findSubscription(ctx, { listId, contactId: contact.id }))',
    replacement: 'await lockList(ctx, listId)',
  },
  {
    name: 'the preferences page denies tracking only together with a grant that succeeds',
    file: `${folder}/track-preferences.ts`,
    search:
      '    if (denied.length > 0) await denyByContact(ctx, contact, sourceOf(denied))\n  })\n  await withLockedHolder(base, token, async (ctx, { contact, isCurrent }) => {\n    if (!contact || !isCurrent) return\n',
    replacement: '    if (denied.length > 0) await denyByContact(ctx, contact, sourceOf(denied))\n',
  },
  {
    name: 'a preferences link to a former address chooses tracking for the present one',
    file: `${folder}/track-preferences.ts`,
    search: 'if (!contact || !isCurrent) throw',
    replacement: 'if (!contact) throw',
  },
  {
    name: 'personal data goes to an address that the contact no longer has',
    file: `${folder}/personal-data-mail.ts`,
    search: 'contact && isSameAddress(contact.email, toAddress) ? contact : undefined',
    replacement: 'contact || undefined',
  },
  {
    name: 'a link to a former address asks for the personal data of the contact',
    file: `${folder}/personal-data-mail.ts`,
    search: 'if (!contact || !isCurrent) throw',
    replacement: 'if (!contact) throw',
  },
]

/** The preferences page obeys the person who holds the address, and no other one. */
export const preferencesGuards: readonly TestedGuard[] = given.map((guard) => ({
  promise: 'consent',
  tests: ['change-preferences', 'track-preferences', 'personal-data-mail'].map(
    (name) => `${folder}/${name}.int.test.ts`,
  ),
  ...guard,
}))
