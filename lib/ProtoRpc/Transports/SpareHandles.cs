using System.Globalization;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Keeps some of the process's file handles free of connections. A runtime that finds none cannot
/// start threads or load assemblies any more, and ends the process.</summary>
internal static class SpareHandles
{
    private const string Limits = "/proc/self/limits";
    private const string OpenFiles = "Max open files";
    private const int Spare = 32;

    // The part of a small limit that is kept free.
    private const int Part = 8;

    private static readonly Lazy<long> Most = new(FindMost);

    /// <summary>Whether an accepted connection leaves handles for others. The system gives the lowest free
    /// number, so a high one says that all below it are taken.</summary>
    public static bool AreLeftBy(Socket accepted) => accepted.SafeHandle.DangerousGetHandle() < Most.Value;

    /// <summary>The first number that connections do not get.</summary>
    /// <param name="limits">The lines of /proc/self/limits.</param>
    internal static long MostOf(IEnumerable<string> limits)
    {
        string? line = limits.FirstOrDefault(
            line => line.StartsWith(OpenFiles, StringComparison.Ordinal));
        return line is not null
            && line[OpenFiles.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries) is [string soft, ..]
            && long.TryParse(soft, NumberStyles.None, CultureInfo.InvariantCulture, out long limit)
                ? limit - Math.Min(Spare, limit / Part)
                : long.MaxValue;
    }

    // Read once: the runtime raises the limit when it starts, and it does not change later.
    private static long FindMost()
    {
        try
        {
            return File.Exists(Limits) ? MostOf(File.ReadLines(Limits)) : long.MaxValue;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return long.MaxValue;
        }
    }
}
