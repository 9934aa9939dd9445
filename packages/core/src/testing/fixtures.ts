/**
 * Fixtures of a test file. Each registers its own hooks and returns an object that is empty until they run. Vitest runs
 * hooks before tests in the order of these calls, and hooks after tests in the reverse order.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Ctx } from '../context.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { createTestCtx } from './factories.ts'

interface Closable {
  close(): unknown
}

/** Opens a resource before the tests of the file and closes it after them. `open` must return a plain object. */
export function useForFile<Resource extends Closable>(open: () => Promise<Resource> | Resource): Resource {
  const resource = {} as Resource
  beforeAll(async () => fill(resource, await open()))
  afterAll(() => resource.close?.())
  return resource
}

/** Opens a resource before each test and closes it after the test. */
export function useForTest<Resource extends Closable>(open: () => Promise<Resource> | Resource): Resource {
  const resource = {} as Resource
  beforeEach(async () => fill(resource, await open()))
  afterEach(() => resource.close?.())
  return resource
}

/** A database of its own for this file. */
export function useTestDatabase(): TestDatabase {
  return useForFile(createTestDatabase)
}

/** The system at work in a new workspace for each test. */
export function useTestCtx(database: TestDatabase): Ctx {
  const ctx = {} as Ctx
  beforeEach(async () => fill(ctx, await createTestCtx(database.db)))
  return ctx
}

/** Copies descriptors, so that getters stay getters. */
function fill(target: object, source: object): void {
  Object.defineProperties(target, Object.getOwnPropertyDescriptors(source))
}
