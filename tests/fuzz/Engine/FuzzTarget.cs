using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>One reader of what others send, and what must hold whatever it reads.</summary>
internal abstract class FuzzTarget : IDisposable
{
    /// <summary>What the target is called.</summary>
    public abstract string Name { get; }

    /// <summary>What must hold beside the documented exceptions, in a few words.</summary>
    public abstract string Promise { get; }

    /// <summary>How inputs are changed.</summary>
    public virtual IMutator Mutator => ByteMutator.Instance;

    /// <summary>Longest input that is made.</summary>
    public virtual int MaxLength => 4096;

    /// <summary>What a read may allocate for each byte of its input; null where it is not measured.</summary>
    public virtual int? BytesPerByte => null;

    /// <summary>What a read may allocate whatever its input is.</summary>
    public virtual int FixedBytes => 64 * 1024;

    /// <summary>Whether the way through the code is the same each time; not so across threads.</summary>
    public virtual bool IsGuided => true;

    /// <summary>Good inputs, to begin with.</summary>
    public abstract IEnumerable<byte[]> Seeds();

    /// <summary>A new input that is changed no further; null where the target only has its seeds.</summary>
    public virtual byte[]? Generate(Random random) => null;

    /// <summary>Inputs that grow, on which time must grow no faster.</summary>
    public virtual IEnumerable<GrowingInput> Growing() => [];

    /// <summary>Reads an input. Any exception that leaves this is a failure.</summary>
    /// <returns>Whether the input was accepted.</returns>
    public abstract bool Run(byte[] input, Meter meter);

    public virtual void Dispose()
    {
    }

    /// <summary>Reads, and takes the refusals that are documented.</summary>
    /// <param name="read">Reads.</param>
    /// <param name="refusals">The statuses of refusals; none for any.</param>
    /// <returns>Whether it was accepted.</returns>
    protected static bool Accepts(Action read, params ReadOnlySpan<RpcStatusCode> refusals)
    {
        try
        {
            read();
            return true;
        }
        catch (RpcException e) when (refusals.IsEmpty || refusals.Contains(e.Code))
        {
            Require(!string.IsNullOrWhiteSpace(e.Message), "a refusal says why");
            return false;
        }
    }

    /// <exception cref="InvariantException">It does not hold.</exception>
    protected static void Require(bool holds, string what)
    {
        if (!holds)
        {
            throw new InvariantException(what);
        }
    }
}
