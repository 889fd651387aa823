using System.Globalization;

namespace ProtoRpc.TestRun;

/// <summary>How many tests did what.</summary>
internal readonly record struct TestCounts(int Passed, int Failed, int Skipped)
{
    public int Total => Passed + Failed + Skipped;

    public static TestCounts operator +(TestCounts one, TestCounts other) =>
        new(one.Passed + other.Passed, one.Failed + other.Failed, one.Skipped + other.Skipped);

    /// <summary>The run's last line; scripts read it, so its form is fixed.</summary>
    public override string ToString() =>
        string.Create(CultureInfo.InvariantCulture, $"{Passed} passed, {Failed} failed, {Skipped} skipped");
}
