import type { HttpErrorResponse, HttpInterceptorFn } from '@angular/common/http'
import { DestroyRef, Injectable, inject, type Signal, signal } from '@angular/core'
import { type CanActivateFn, Router } from '@angular/router'
import type { SessionState } from 'agent-auth'
import { catchError, from, switchMap } from 'rxjs'
import { auth, baseUrl, requireSession } from './auth'

@Injectable({ providedIn: 'root' })
export class Auth {
  private readonly current = signal(auth.session.getSnapshot())
  /** What is known about the user, with `claims`. */
  readonly state: Signal<SessionState> = this.current.asReadonly()
  /** Why the login failed that this page finished. */
  readonly error = signal<unknown>(undefined)

  constructor() {
    const stop = auth.session.subscribe(() => this.current.set(auth.session.getSnapshot()))
    inject(DestroyRef).onDestroy(stop)
  }

  /** For an initializer, because the router must not read the address before. */
  start(): Promise<void> {
    return auth.ready().then(
      () => {},
      (error) => this.error.set(error),
    )
  }
}

/** The guard of a protected route. */
export const requireUser: CanActivateFn = (_, { url }) => {
  const home = inject(Router).parseUrl('/')
  return requireSession(url).catch(() => home)
}

/** Adds the token to requests of HttpClient to the API, and sends one again after a 401. */
export const bearer: HttpInterceptorFn = (request, next) => {
  if (!request.url.startsWith(`${baseUrl}/`)) return next(request)
  const send = (token: string) => next(request.clone({ setHeaders: { Authorization: `Bearer ${token}` } }))
  return from(auth.session.getAccessToken()).pipe(
    switchMap((token) =>
      send(token).pipe(
        catchError((error: HttpErrorResponse) => {
          if (error.status !== 401) throw error
          return from(auth.session.getAccessToken({ rejected: token })).pipe(switchMap(send))
        }),
      ),
    ),
  )
}
