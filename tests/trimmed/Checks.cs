using System.Text;
using System.Text.Json;

namespace ProtoRpc.TrimmedTests;

/// <summary>Runs checks, and writes the report that the test runner reads. xunit needs reflection, which is
/// not there.</summary>
internal sealed class Checks(string filter)
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    private readonly List<(string Name, string Message)> _failures = [];
    private int _passed;

    public async Task RunAsync(string name, Func<Task> check)
    {
        if (!name.Contains(filter, StringComparison.OrdinalIgnoreCase))
        {
            return;
        }

        try
        {
            await Task.Run(check).WaitAsync(Limit);
            _passed++;
        }
#pragma warning disable CA1031 // One check that fails is a line of the report.
        catch (Exception e)
#pragma warning restore CA1031
        {
            _failures.Add((name, e.ToString()));
        }
    }

    public static void Equal<T>(T expected, T actual)
    {
        if (!EqualityComparer<T>.Default.Equals(expected, actual))
        {
            throw new InvalidOperationException($"expected '{expected}', but it is '{actual}'");
        }
    }

    public static async Task<TException> ThrowsAsync<TException>(Func<Task> call)
        where TException : Exception
    {
        try
        {
            await call();
        }
        catch (TException e)
        {
            return e;
        }

        throw new InvalidOperationException($"expected a {typeof(TException).Name}, but there is none");
    }

    public string ToJson()
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter json = new(stream))
        {
            json.WriteStartObject();
            json.WriteNumber("passed", _passed);
            json.WriteStartArray("failures");
            foreach ((string name, string message) in _failures)
            {
                json.WriteStartObject();
                json.WriteString("name", name);
                json.WriteString("message", message);
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteStartArray("skips");
            json.WriteEndArray();
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(stream.ToArray());
    }
}
