using System.Collections;
using System.Collections.Specialized;
using System.Numerics;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

/// <summary>Dictionaries are read in a way of their own, which must give what other members give.</summary>
public static class DictionaryMappingTests
{
    private static readonly object?[] Values =
    [
        null, DBNull.Value, "", "text", "5", " 5 ", "1.5", "true", "\ud800", "\ud83d\ude00", 'c', 0, 5, -5,
        int.MinValue, int.MaxValue, 5U, uint.MaxValue, 5L, -5L, long.MaxValue, 5UL, ulong.MaxValue, (byte)5,
        1.5, -1.0, double.NaN, 1e300, 1.5f, 3m, new BigInteger(7), true, false, new byte[] { 1, 2 },
        Array.Empty<byte>(), DayOfWeek.Friday, new object[] { 1, 2 }, new List<object> { 3 }, new Hashtable(),
    ];

    public static TheoryData<string> Fields() =>
    [
        "f_int32", "f_sint32", "f_sfixed32", "f_uint32", "f_fixed32", "f_int64", "f_sint64", "f_sfixed64",
        "f_uint64", "f_fixed64", "f_float", "f_double", "f_bool", "f_string", "f_bytes",
    ];

    [Theory]
    [MemberData(nameof(Fields))]
    public static void Give_what_pairs_give(string field)
    {
        foreach (object? value in Values)
        {
            foreach (string type in (string[])["proto2.Singular", "proto3.Singular", "proto3.Repeated"])
            {
                KeyValuePair<string, object?>[] pairs = [new(field, value)];

                string expected = ResultOf(type, pairs);

                Assert.Equal(expected, ResultOf(type, new Hashtable { [field] = value }));
                Assert.Equal(expected, ResultOf(type, new OrderedDictionary { [field] = value }));
                Assert.Equal(expected, ResultOf(type, new Dictionary<string, object?>(pairs)));
            }
        }
    }

    [Fact]
    public static void Have_names_whose_keys_are_no_strings()
    {
        DynamicMessage message = new MessageMapper().ToMessage(
            Type("proto3.Singular"),
            new Hashtable { [new Name("f_int32")] = 7, [new Name("f_string")] = "x" });

        Assert.Equal(7, message.Get("f_int32"));
        Assert.Equal("x", message.Get("f_string"));
    }

    [Fact]
    public static void Refuse_two_keys_of_one_field_whichever_is_first()
    {
        foreach (string[] names in (string[][])[["f_int32", "F_INT32"], ["F_INT32", "f_int32"]])
        {
            OrderedDictionary members = new() { [names[0]] = 1, [names[1]] = 2 };

            RpcException e = Assert.Throws<RpcException>(
                () => new MessageMapper().ToMessage(Type("proto3.Singular"), members));

            Assert.Equal("Singular.f_int32", e.FieldPath);
            Assert.Contains("two keys", e.Message);
        }
    }

    [Fact]
    public static void Are_left_as_they_should_be_when_an_entry_fails()
    {
        Counted members = new() { ["f_int32"] = "no number" };

        Assert.Throws<RpcException>(() => new MessageMapper().ToMessage(Type("proto3.Singular"), members));

        Assert.Equal(1, members.Ended);
    }

    private static string ResultOf(string type, object members)
    {
        try
        {
            return Hex(new MessageMapper { TakesRows = false }.ToMessage(Type(type), members));
        }
        catch (RpcException e)
        {
            return $"{e.ErrorId}: {e.Message}";
        }
    }

    private sealed record Name(string Text)
    {
        public override string ToString() => Text;
    }

    // Its entries are those of an iterator, which has to be disposed of.
    private sealed class Counted : Hashtable
    {
        public int Ended { get; private set; }

        public override IDictionaryEnumerator GetEnumerator() => new Entries(this, base.GetEnumerator());

        private sealed class Entries(Counted owner, IDictionaryEnumerator inner)
            : IDictionaryEnumerator, IDisposable
        {
            public DictionaryEntry Entry => inner.Entry;

            public object Key => inner.Key;

            public object? Value => inner.Value;

            public object Current => inner.Current;

            public bool MoveNext() => inner.MoveNext();

            public void Reset() => inner.Reset();

            public void Dispose() => owner.Ended++;
        }
    }
}
