using System.Globalization;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>What a process used since it began, or between two moments.</summary>
/// <param name="CpuMilliseconds">Time of processors, of user and system.</param>
/// <param name="AllocatedBytes">Managed memory that was allocated.</param>
internal readonly record struct ResourceUse(double CpuMilliseconds, long AllocatedBytes)
{
    /// <summary>That of this process since it began.</summary>
    public static ResourceUse Now() => new(
        Environment.CpuUsage.TotalTime.TotalMilliseconds, GC.GetTotalAllocatedBytes(precise: true));

    public static ResourceUse operator -(ResourceUse later, ResourceUse earlier) => new(
        later.CpuMilliseconds - earlier.CpuMilliseconds, later.AllocatedBytes - earlier.AllocatedBytes);

    public static ResourceUse operator +(ResourceUse one, ResourceUse other) => new(
        one.CpuMilliseconds + other.CpuMilliseconds, one.AllocatedBytes + other.AllocatedBytes);

    /// <summary>The numbers that <see cref="ToString"/> wrote.</summary>
    public static ResourceUse Parse(string cpu, string allocated) => new(
        double.Parse(cpu, CultureInfo.InvariantCulture), long.Parse(allocated, CultureInfo.InvariantCulture));

    public override string ToString() =>
        string.Create(CultureInfo.InvariantCulture, $"{CpuMilliseconds:F3} {AllocatedBytes}");
}
