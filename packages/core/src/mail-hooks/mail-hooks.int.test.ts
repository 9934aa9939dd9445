import { beforeEach, expect, test } from 'vitest'
import { createTestCtx, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import type { Ctx } from '../request/context.ts'
import {
  createInstallationHook,
  createMailHook,
  deleteInstallationHook,
  deleteMailHook,
  findMailHook,
  listInstallationHooks,
  listMailHooks,
} from './mail-hooks.ts'
import { MailHookQuery } from './mail-hooks.schema.ts'
import { resealRows } from '../db/sealed-rows.ts'
import { sealedMailHooks } from './sealed-mail-hooks.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const input = { provider: 'ses', secret: providerSecrets.ses } as const

test('the hooks of the installation are not those of a workspace', async () => {
  const [own, common] = [await createMailHook(ctx, input), await createInstallationHook(ctx, input)]
  const { data } = await listMailHooks(ctx, MailHookQuery.parse({}))
  expect(data.map(({ id }) => id)).toEqual([own.id])
  expect(await listInstallationHooks(ctx)).toEqual([common])
  const missing = { code: 'not_found', message: 'Mail hook not found' }
  await expect(deleteInstallationHook(ctx, own.id)).rejects.toMatchObject(missing)
  await expect(deleteMailHook(ctx, common.id)).rejects.toMatchObject(missing)
  await deleteInstallationHook(ctx, common.id)
  expect(await listInstallationHooks(ctx)).toEqual([])
})

test('a hook is found by its id and provider, while its workspace is live', async () => {
  const { id } = await createMailHook(ctx, input)
  expect(await findMailHook(ctx, { id, provider: 'ses' })).toMatchObject({ hook: { id }, secret: input.secret })
  expect(await findMailHook(ctx, { id, provider: 'resend' })).toBeUndefined()
  await database.db.execute(`update workspaces set deleted_at = now()`)
  expect(await findMailHook(ctx, { id, provider: 'ses' })).toBeUndefined()
})

test('a changed SECRET_KEY seals the secrets again, except those with a lost key', async () => {
  await database.db.execute('delete from mail_hooks')
  const { id } = await createMailHook(ctx, input)
  const lost = deriveKeys('a key that is lost: no process has it any longer')
  await createMailHook({ ...ctx, settings: { ...ctx.settings, keys: lost } }, input)
  const former = 'a long secret key that only the tests use'
  const keys = deriveKeys('another long secret key, which is the new one', [former])
  const current = { ...ctx, settings: { ...testSettings, keys: deriveKeys(former) } }
  const { id: sealed } = await createMailHook(current, input)
  const counts = await resealRows(database.db, keys, sealedMailHooks)
  expect(counts.resealed).toBeGreaterThan(0)
  expect(counts.lost).toBeGreaterThan(0)
  const renewed = { ...ctx, settings: { ...testSettings, keys: { ...keys, storage: [keys.storage[0]] as const } } }
  expect(await findMailHook(renewed, { id: sealed, provider: 'ses' })).toMatchObject({ secret: input.secret })
  expect(await resealRows(database.db, keys, sealedMailHooks)).toEqual({ resealed: 0, lost: counts.lost })
  expect(id).not.toBe(sealed)
})
