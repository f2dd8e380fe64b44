/* SPDX-License-Identifier: MIT */
/* A program of another C library (musl-gcc) that loads, looks up, forks and has threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *argument)
{
	free(malloc(1 << 20));
	return argument;
}

static void say_found(const char *name)
{
	void *address = dlsym(RTLD_DEFAULT, name);
	const char *error = address ? NULL : dlerror();

	printf("%s %s\n", name, address ? "found" : error ? error : "missing without an error");
}

int main(void)
{
	void *self = dlopen(NULL, RTLD_NOW);
	pthread_t thread;
	int status;

	say_found("strlen");
	say_found("no_such_function");
	say_found("cuNoSuchFunction");
	printf("strlen of the program: %d\n", self && dlsym(self, "strlen") == (void *)strlen);
	printf("library: %s\n", dlopen("libnosuch.so", RTLD_NOW) ? "opened" : "refused");
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	fflush(stdout);
	if (!fork())
		_exit(5);
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	return 7;
}
