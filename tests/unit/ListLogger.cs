using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Tests;

/// <summary>Keeps what is logged, with its category.</summary>
internal sealed class ListLogger : ILoggerFactory
{
    public ConcurrentQueue<(string Category, LogLevel Level, string Text, Exception? Error)> Entries { get; }
        = new();

    /// <summary>What every log call throws; null for nothing.</summary>
    public Exception? Failure { get; init; }

    /// <summary>The lowest level that is logged.</summary>
    public LogLevel Least { get; init; }

    public ILogger CreateLogger(string categoryName) => new Category(this, categoryName);

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public void Dispose()
    {
    }

    private sealed class Category(ListLogger all, string name) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= all.Least;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            if (all.Failure is not null)
            {
                throw all.Failure;
            }

            all.Entries.Enqueue((name, logLevel, formatter(state, exception), exception));
        }
    }
}
