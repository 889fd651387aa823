namespace ProtoRpc.Fuzz.Engine;

/// <summary>What a run of one target came to.</summary>
internal sealed record TargetResult(string Name, string Promise)
{
    public long Inputs { get; set; }

    public long Accepted { get; set; }

    /// <summary>Inputs that took a new way through the code.</summary>
    public int Kept { get; set; }

    /// <summary>Branches that were taken.</summary>
    public int Branches { get; set; }

    /// <summary>What a read may allocate for each byte of its input.</summary>
    public int? BytesPerByte { get; init; }

    /// <summary>What a read did allocate at most for each byte, beyond what it may in any case.</summary>
    public double WorstBytesPerByte { get; set; }

    /// <summary>Shapes whose time was measured.</summary>
    public int Growths { get; set; }

    public List<Failure> Failures { get; } = [];
}
