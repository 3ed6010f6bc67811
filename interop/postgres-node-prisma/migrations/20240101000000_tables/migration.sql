-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "Kind" AS ENUM ('NOVEL', 'ALMANAC', 'short essay');

-- CreateTable
CREATE TABLE "Author" (
    "id" UUID NOT NULL,
    "name" VARCHAR(80) NOT NULL,
    "mail" TEXT,
    "born" DATE,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "changed" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Author_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Card" (
    "id" SERIAL NOT NULL,
    "number" TEXT NOT NULL,
    "limit" DOUBLE PRECISION NOT NULL,
    "photo" BYTEA,
    "authorId" UUID NOT NULL,

    CONSTRAINT "Card_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Book" (
    "id" SERIAL NOT NULL,
    "title" TEXT NOT NULL,
    "price" DECIMAL(8,2),
    "sold" BIGINT NOT NULL DEFAULT 0,
    "published" TIMESTAMPTZ(3),
    "facts" JSONB,
    "labels" TEXT[],
    "version" INTEGER NOT NULL DEFAULT 0,
    "kind" "Kind" NOT NULL DEFAULT 'NOVEL',
    "authorId" UUID,

    CONSTRAINT "Book_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Tag" (
    "name" VARCHAR(60) NOT NULL,
    "note" TEXT,

    CONSTRAINT "Tag_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "reviews" (
    "bookId" INTEGER NOT NULL,
    "reader" VARCHAR(60) NOT NULL,
    "stars" SMALLINT NOT NULL,
    "text" TEXT,

    CONSTRAINT "reviews_pkey" PRIMARY KEY ("bookId","reader")
);

-- CreateTable
CREATE TABLE "_following" (
    "A" UUID NOT NULL,
    "B" UUID NOT NULL,

    CONSTRAINT "_following_AB_pkey" PRIMARY KEY ("A","B")
);

-- CreateTable
CREATE TABLE "_BookToTag" (
    "A" INTEGER NOT NULL,
    "B" VARCHAR(60) NOT NULL,

    CONSTRAINT "_BookToTag_AB_pkey" PRIMARY KEY ("A","B")
);

-- CreateIndex
CREATE UNIQUE INDEX "Author_mail_key" ON "Author"("mail");

-- CreateIndex
CREATE INDEX "Author_born_idx" ON "Author"("born");

-- CreateIndex
CREATE UNIQUE INDEX "Card_authorId_key" ON "Card"("authorId");

-- CreateIndex
CREATE INDEX "Book_authorId_title_idx" ON "Book"("authorId", "title");

-- CreateIndex
CREATE INDEX "_following_B_index" ON "_following"("B");

-- CreateIndex
CREATE INDEX "_BookToTag_B_index" ON "_BookToTag"("B");

-- AddForeignKey
ALTER TABLE "Card" ADD CONSTRAINT "Card_authorId_fkey" FOREIGN KEY ("authorId") REFERENCES "Author"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Book" ADD CONSTRAINT "Book_authorId_fkey" FOREIGN KEY ("authorId") REFERENCES "Author"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reviews" ADD CONSTRAINT "reviews_bookId_fkey" FOREIGN KEY ("bookId") REFERENCES "Book"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "_following" ADD CONSTRAINT "_following_A_fkey" FOREIGN KEY ("A") REFERENCES "Author"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "_following" ADD CONSTRAINT "_following_B_fkey" FOREIGN KEY ("B") REFERENCES "Author"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "_BookToTag" ADD CONSTRAINT "_BookToTag_A_fkey" FOREIGN KEY ("A") REFERENCES "Book"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "_BookToTag" ADD CONSTRAINT "_BookToTag_B_fkey" FOREIGN KEY ("B") REFERENCES "Tag"("name") ON DELETE CASCADE ON UPDATE CASCADE;
