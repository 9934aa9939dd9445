import { AsyncLocalStorage } from 'node:async_hooks'

/** Runs a function outside the async context of its caller, for work that several requests share. */
export const withoutContext = AsyncLocalStorage.snapshot()
