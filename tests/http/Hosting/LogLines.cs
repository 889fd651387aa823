using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Keeps the lines that applications log.</summary>
internal sealed class LogLines(ConcurrentQueue<string> all) : ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) => new Line(categoryName, all);

    public void Dispose()
    {
    }

    private sealed class Line(string category, ConcurrentQueue<string> all) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter) => all.Enqueue(
            $"{logLevel} {category}: {formatter(state, exception)} {exception?.GetType().Name}".Trim());
    }
}
