import { provideHttpClient, withInterceptors } from '@angular/common/http'
import {
  type ApplicationConfig,
  inject,
  provideAppInitializer,
  provideBrowserGlobalErrorListeners,
} from '@angular/core'
import { provideRouter } from '@angular/router'
import { Models } from './app'
import { Auth, bearer, requireUser } from './auth.service'

export const appConfig: ApplicationConfig = {
  providers: [
    provideBrowserGlobalErrorListeners(),
    provideHttpClient(withInterceptors([bearer])),
    provideAppInitializer(() => inject(Auth).start()),
    provideRouter([
      { path: 'models', component: Models, canActivate: [requireUser] },
      { path: '**', children: [] }, // the callback too, if the login failed
    ]),
  ],
}
