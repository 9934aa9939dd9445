import { deleteCompany } from '@rapport/core/operations/contacts/delete-company.ts'
import { lockContact } from '@rapport/core/contacts/lock-contact.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { createTestCompany, createTestContact, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { releaseCompany } from './clear-deleted.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))

test('the job of a deleted company releases its contacts, and no others', async () => {
  const [company, other] = [await createTestCompany(ctx), await createTestCompany(ctx)]
  const one = await createTestContact(ctx, { companyId: company.id })
  const two = await createTestContact(ctx, { companyId: other.id })
  await deleteCompany(ctx, company.id)
  await releaseCompany(deps, jobOf(ctx, 'RELEASE_COMPANY', uuidOf(company.id)))
  expect(await lockContact(ctx, one.id)).toMatchObject({ companyId: null })
  expect(await lockContact(ctx, two.id)).toMatchObject({ companyId: other.id })
  expect(await listPendingWork(ctx)).toEqual([])
})
