using System.Globalization;
using System.Reflection;
using System.Runtime.InteropServices;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>Where and when something was measured, since figures mean nothing without it.</summary>
internal static class MachineFacts
{
    public static string Describe()
    {
        string date = DateTime.UtcNow.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        double gigabytes = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / (double)(1L << 30);
        string memory = gigabytes.ToString("0", CultureInfo.InvariantCulture);
        return $"Measured on {date}, ProtoRpc {Version()}, {RuntimeInformation.FrameworkDescription}, "
            + $"{RuntimeInformation.OSDescription} ({RuntimeInformation.ProcessArchitecture}), "
            + $"{Environment.ProcessorCount} processors of the kind {Processor()}, {memory} GiB of memory.";
    }

    // The commit stands behind the plus sign, where the build knew it.
    private static string Version() => typeof(RpcClient).Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "of no version";

    private static string Processor()
    {
        const string Cpus = "/proc/cpuinfo";
        string? name = File.Exists(Cpus)
            ? File.ReadLines(Cpus).FirstOrDefault(
                line => line.StartsWith("model name", StringComparison.Ordinal))
            : Environment.GetEnvironmentVariable("PROCESSOR_IDENTIFIER");
        return name is null ? "that the system does not name" : name[(name.IndexOf(':') + 1)..].Trim();
    }
}
