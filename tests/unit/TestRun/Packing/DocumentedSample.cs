namespace ProtoRpc.Tests.TestRun.Packing;

/// <summary>Members whose documentation ids are not simple.</summary>
public sealed class DocumentedSample<T>(T[] items, int[,] table)
{
    public const int Constant = 1;

    private readonly int _hidden = items.Length + table.Length;

    internal int Hidden = 2;

    public event EventHandler? Happened;

    public string HalfOpen { get; private set; } = "";

    public int this[string name] => name.Length + _hidden;

    public static implicit operator string(DocumentedSample<T> sample) => sample.HalfOpen;

    public void Map<TOther>(List<List<TOther>> lists, out int count) => count = lists.Count;

    public unsafe void Pointer(byte* bytes)
    {
    }

    public void Use(Inner<int?> inner) => Happened?.Invoke(this, EventArgs.Empty);

    internal void Internal()
    {
    }

    public sealed class Inner<TInner>;

    internal sealed class Secret
    {
        public int Value { get; set; }
    }
}
